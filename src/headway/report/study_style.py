"""The style of the reproduction's report, on top of that of all pages."""

from __future__ import annotations

STUDY_CSS = """
:root{--equal:#14632f;--equal-back:#e6f6ea;--same:#1d4f8f;--same-back:#e6effb;
--differs:#8a4b00;--differs-back:#fdf0dc;--beyond:#5a3f94;--beyond-back:#f0eafb}
@media screen and (prefers-color-scheme:dark){:root{--equal:#7fdca0;--equal-back:#10301c;
--same:#9cc5ff;--same-back:#12263f;--differs:#ffc98a;--differs-back:#3a2408;
--beyond:#cdb8ff;--beyond-back:#261b42}}
.equal{--tone:var(--equal);--back:var(--equal-back)}.same{--tone:var(--same);--back:var(--same-back)}
.differs{--tone:var(--differs);--back:var(--differs-back)}
.beyond{--tone:var(--beyond);--back:var(--beyond-back)}
.lacking{--tone:var(--muted);--back:var(--card)}
.differences li{margin:.45rem 0;max-width:80ch}
.tally{display:flex;flex-wrap:wrap;gap:.6rem;padding:0;list-style:none}
.tally li{padding:.5rem .9rem;border-radius:8px;background:var(--back);color:var(--tone)}
.tally b{font-size:1.6rem;margin-right:.35rem}
.glance table{max-width:none}.glance td,.glance th{vertical-align:middle}
.mark{display:inline-block;min-width:1.55rem;text-align:center;margin:.1rem;border-radius:5px;
background:var(--back);color:var(--tone);font-weight:700;text-decoration:none}
a{color:inherit}
.study{border-top:1px solid var(--line);padding-top:.8rem;margin-top:1.4rem;scroll-margin-top:.5rem}
.claims{display:grid;gap:.7rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,21rem),1fr));
margin:.8rem 0}
.claim{border:1px solid var(--line);border-left:6px solid var(--tone);border-radius:8px;
padding:.6rem .9rem;background:var(--card);scroll-margin-top:.5rem}
.claim:target{outline:3px solid var(--tone)}
.claim header{display:flex;justify-content:space-between;gap:.6rem;font-weight:600;flex-wrap:wrap}
.badge{color:var(--tone);background:var(--back);border-radius:5px;padding:0 .5rem}
.claim dl{display:grid;grid-template-columns:auto 1fr;gap:.15rem .8rem;margin:.4rem 0 0}
.claim dt{color:var(--muted)}.claim dd{margin:0;overflow-wrap:anywhere}
.why{margin:.4rem 0 0;font-size:.92rem}
.pictures{display:grid;gap:1rem;align-items:start;grid-template-columns:repeat(auto-fill,minmax(min(100%,34rem),1fr))}
.pictures figure{padding:.4rem;overflow:hidden}
.pictures figure svg{min-width:0;width:100%}
@media screen and (max-width:40rem){.pictures figure{overflow-x:auto}
.pictures figure svg{min-width:33rem}.glance td:nth-child(2),.glance th:nth-child(2){display:none}}
figcaption{padding:.3rem .6rem .5rem;font-size:.9rem}
caption{text-align:left;font-weight:600;padding:.3rem 0}
.pictures .grid{align-self:start}
@media print{.claim,figure{break-inside:avoid}.glance{break-after:page}}
"""
