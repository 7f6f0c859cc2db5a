/**
 * The style of the traffic page. System fonts, no picture, light and dark by one set of colors.
 *
 * @module
 */

/** The style sheet's text, as it stands in the page and in the hash of its policy. */
export const STYLE =
  `:root{color-scheme:light dark;--c:light-dark(#fff,#1c2324);--q:light-dark(#57615b,#a9b3ac);--a:light-dark(#0c6b58,#5cd0b3);--s:light-dark(#dcefe8,#213d38);--w:light-dark(#a84a16,#f0a36f)}
body{max-width:66rem;margin:auto;padding:1rem;background:light-dark(#fbf8f1,#14191a);color:light-dark(#1d2420,#eef0ea);font:1rem/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
a,summary{color:var(--a)}
header,.row,nav ul,dl,.legend{display:flex;flex-wrap:wrap;gap:.4rem 1.75rem;align-items:center;justify-content:space-between}
nav ul{gap:0;margin:0;background:var(--c);border-radius:2rem}
nav a{display:block;padding:.3rem .7rem;border-radius:2rem;color:var(--q);text-decoration:none}
[aria-current]{font-weight:700}
nav [aria-current]{background:var(--a);color:var(--c)}
ol,dl,p,h1,details,.legend{margin:.5rem 0}
h1{font-size:1.6rem;line-height:1.25}
h2{font-size:1rem;margin:0}
section{background:var(--c);border:1px solid var(--s);border-radius:.75rem;padding:1rem 1.25rem;margin-bottom:1rem;min-width:0}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:0 1rem}
.warn{border-color:var(--w)}
small,dt,.legend,table{color:var(--q);font-size:.9rem}
dd{margin:0;font-weight:700}
strong{font-size:3.5rem;line-height:1}
.big{flex:1 1 18rem}
.chart{display:grid;margin:1.5rem 0 0 2.6rem}
.chart>svg{grid-area:1/1;width:100%;height:15rem;overflow:visible}
line{stroke:var(--s)}
text{fill:var(--q);font-size:.75rem;text-anchor:middle}
.e{text-anchor:end}
rect,path{fill:var(--a);vector-effect:non-scaling-stroke}
rect{height:100%;rx:3px}
a rect{fill:transparent}
a:hover rect{fill:var(--q);opacity:.2}
.p{fill:var(--s);stroke:var(--a);stroke-dasharray:3 2}
.w,.m{fill:var(--w);color:var(--w);font-weight:700}
.d{fill:none;stroke:var(--q);stroke-width:1.5;stroke-dasharray:4 3}
.legend,nav ul,ol,dl{padding:0;list-style:none;justify-content:start}
.legend svg{overflow:visible;width:.9rem;margin-right:.4rem}
ol li{margin-top:3px;display:grid;grid-template-columns:1fr auto 3.2rem;gap:.5rem;padding:.3rem .5rem;position:relative}
ol svg{position:absolute;width:100%;height:100%}
ol rect{fill:var(--s)}
ol span,ol b,ol small{position:relative}
ol a,ol small{color:inherit}
ol a:not(:hover){text-decoration:none}
ol small,td,th{text-align:right}
.meter{display:block;width:20rem;max-width:100%;height:.5rem;margin:.3rem 0;background:var(--s)}
table{width:100%;border-collapse:collapse;overflow-wrap:normal}
details{overflow:auto}
td,th{padding:.25rem .5rem .25rem 0;border-bottom:1px solid var(--s);font-weight:400}
th:first-child,td:last-child{text-align:left}
tr>:first-child{white-space:nowrap}
input,button{font:inherit}
i{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
@media print{nav,footer{display:none}}`;
