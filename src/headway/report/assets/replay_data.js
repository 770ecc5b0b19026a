// The page's data: a header of plain values, and columns packed by headway/report/replay_columns.py.

const ABSENT = -(2 ** 31);

async function loadReplay() {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser cannot unpack deflated data; any browser since 2023 can");
  }
  const text = document.getElementById("replay-columns").textContent.trim();
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(plain).arrayBuffer());
  const header = JSON.parse(document.getElementById("replay-header").textContent);
  return unpack(header, bytes);
}

// Every {at, count, step} in the header becomes a Float64Array.
function unpack(value, bytes) {
  if (Array.isArray(value)) return value.map((part) => unpack(part, bytes));
  if (value === null || typeof value !== "object") return value;
  if ("at" in value && "count" in value && "step" in value) return column(value, bytes);
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, unpack(v, bytes)]));
}

function column({ at, count, step }, bytes) {
  const values = new Float64Array(count);
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const place = at + i;
    const folded =
      bytes[place] |
      (bytes[place + count] << 8) |
      (bytes[place + 2 * count] << 16) |
      (bytes[place + 3 * count] << 24);
    sum = (sum + ((folded >>> 1) ^ -(folded & 1))) | 0;
    values[i] = sum === ABSENT ? NaN : sum * step;
  }
  return values;
}

// The number of entries of values[start..end), which ascend, that are at most `limit`, plus start.
function countUpTo(values, limit, start = 0, end = values.length) {
  while (start < end) {
    const middle = (start + end) >> 1;
    if (values[middle] <= limit) start = middle + 1;
    else end = middle;
  }
  return start;
}
