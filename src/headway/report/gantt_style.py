"""Colours of Gantt charts, light and dark, and the script of the interactive page."""

from __future__ import annotations

from headway.report.picture_style import FONT

CHART_CLASS = "headway-gantt"
_HUES = (212, 28, 140, 330, 52, 268, 178, 4, 96, 300, 195, 75)
_LIGHT = {
    "text": "fill:#18212d",
    ".muted": "fill:#566273",
    ".page": "fill:#ffffff",
    ".processor-row": "fill:#eef3f9",
    ".link-row": "fill:#f2f1fa",
    ".grid": "stroke:#d5dde7;stroke-width:1",
    ".makespan": "stroke:#18212d;stroke-width:1.6",
    ".deadline": "stroke:#b3261e;stroke-width:1.6;stroke-dasharray:5 3",
    ".box": "stroke:#18212d;stroke-opacity:.45;stroke-width:.8",
    "text.on-bar": "fill:#18212d",
    ".faded": "opacity:.18",
    ".chosen .box": "stroke-width:2.4;stroke-opacity:1",
}
_DARK = {
    "text": "fill:#e7ecf3",
    ".muted": "fill:#a3b0c0",
    ".page": "fill:#10151c",
    ".processor-row": "fill:#1a2430",
    ".link-row": "fill:#201f31",
    ".grid": "stroke:#2e3a49",
    ".makespan": "stroke:#e7ecf3",
    ".deadline": "stroke:#f2857d",
    ".chosen .box": "stroke:#ffffff",
}


def colour_class(index: int) -> str:
    """The class of the n-th task's colour; they repeat after a dozen."""
    return f"c{index % len(_HUES)}"


def chart_css() -> str:
    """Rules that hold inside the chart only."""
    colours = {f".c{i}": f"fill:hsl({hue} 72% 78%)" for i, hue in enumerate(_HUES)}
    return (
        f".{CHART_CLASS}{{font-family:{FONT}}}"
        + _rules(_LIGHT | colours)
        + "@media screen and (prefers-color-scheme:dark){"
        + _rules(_DARK)
        + "}"
    )


def _rules(style: dict[str, str]) -> str:
    return "".join(f".{CHART_CLASS} {name}{{{rule}}}" for name, rule in style.items())


CONTROLS_CSS = """
.tools{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;margin:.6rem 0}
.tools button,.tools select{font:inherit;padding:.2rem .7rem;border:1px solid var(--line);
border-radius:6px;background:var(--card);color:var(--ink);cursor:pointer}
.chart{display:none}.chart.shown{display:block}
.chart figure svg{max-width:none;height:auto}
.facts{min-height:1.6em;font-variant-numeric:tabular-nums}
.bar{cursor:pointer}
@media print{.tools{display:none}.chart{display:block}}
"""

SCRIPT = """
(function(){
  var charts=Array.prototype.slice.call(document.querySelectorAll('.chart'));
  var pick=document.getElementById('pick'),facts=document.getElementById('facts');
  var zoom=1,chosen=null;
  function current(){return document.querySelector('.chart.shown')}
  function size(){charts.forEach(function(chart){
    chart.querySelector('svg').style.width=(zoom*100)+'%';});}
  function show(index){charts.forEach(function(chart,i){
    chart.classList.toggle('shown',i===index);});choose(null);}
  function zoomTo(value,centre){
    var box=current().querySelector('figure'),old=zoom;
    zoom=Math.min(40,Math.max(1,value));
    var at=centre===undefined?box.clientWidth/2:centre;
    var keep=(box.scrollLeft+at)/old;size();box.scrollLeft=keep*zoom-at;}
  function choose(task){
    chosen=task;
    var bars=current().querySelectorAll('.bar'),near={};
    if(task!==null){near[task]=1;bars.forEach(function(bar){
      var a=bar.dataset.from,b=bar.dataset.to;
      if(a===task||b===task){near[a]=1;near[b]=1;}});}
    bars.forEach(function(bar){
      var d=bar.dataset,own=d.task===task||d.from===task||d.to===task;
      bar.classList.toggle('faded',task!==null&&!own&&!(d.task&&near[d.task]));
      bar.classList.toggle('chosen',task!==null&&own);});
    facts.textContent=task===null?'Click a task to follow its messages.':
      Array.prototype.filter.call(bars,function(bar){return bar.dataset.task===task;})
      .map(function(bar){return bar.querySelector('title').textContent.replace('\\n',': ');})
      .join('; ');}
  document.querySelectorAll('.bar').forEach(function(bar){
    bar.addEventListener('click',function(event){
      var task=bar.dataset.task||bar.dataset.from;
      choose(chosen===task?null:task);event.stopPropagation();});});
  document.addEventListener('click',function(event){
    if(!event.target.closest('.tools'))choose(null);});
  document.querySelectorAll('figure').forEach(function(box){
    box.addEventListener('wheel',function(event){
      if(!event.ctrlKey&&!event.metaKey)return;
      event.preventDefault();
      zoomTo(zoom*(event.deltaY<0?1.25:0.8),event.clientX-box.getBoundingClientRect().left);
    },{passive:false});});
  document.getElementById('in').addEventListener('click',function(){zoomTo(zoom*1.5);});
  document.getElementById('out').addEventListener('click',function(){zoomTo(zoom/1.5);});
  document.getElementById('all').addEventListener('click',function(){zoomTo(1);});
  if(pick)pick.addEventListener('change',function(){show(pick.selectedIndex);});
  show(0);size();
})();
"""
