/**
 * The style of the traffic page. System fonts, no picture, light and dark by one set of colors.
 *
 * @module
 */

/** The style sheet's text, as it stands in the page and in the hash of its policy. */
export const STYLE =
  `:root{color-scheme:light dark;--card:light-dark(#fff,#1c2324);--ink:light-dark(#1d2420,#eef0ea);--quiet:light-dark(#57615b,#a9b3ac);--accent:light-dark(#0c6b58,#5cd0b3);--soft:light-dark(#dcefe8,#213d38);--warm:light-dark(#a84a16,#f0a36f)}
body{max-width:66rem;margin:auto;padding:1rem;background:light-dark(#fbf8f1,#14191a);color:var(--ink);font:1rem/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
a,summary{color:var(--accent)}
:focus-visible{outline:3px solid var(--warm);outline-offset:2px}
header,.row,nav ul,dl,.legend{display:flex;flex-wrap:wrap;gap:.4rem 1.75rem;align-items:center;justify-content:space-between}
nav ul{gap:0;border:3px solid var(--card);border-radius:2rem;background:var(--card)}
nav a{display:block;padding:.3rem .85rem;border-radius:2rem;color:var(--quiet);text-decoration:none}
[aria-current]{font-weight:700}
nav [aria-current]{background:var(--accent);color:var(--card)}
ul,ol,dl,p{margin:.5rem 0}
h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0}
h2{font-size:1rem;margin:0}
section{background:var(--card);border:1px solid var(--soft);border-radius:.75rem;padding:1rem 1.25rem;margin-bottom:1rem;min-width:0}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:0 1rem}
.warn{border-color:var(--warm)}
small,dt,.legend,table{color:var(--quiet);font-size:.875rem}
dd{margin:0;font-size:1.15rem;font-weight:600}
strong{font-size:3.5rem;line-height:1}
.big{flex:1 1 18rem}
.chart{display:grid;margin:1.5rem 0 0 2.6rem}
.chart>svg{grid-area:1/1;width:100%;height:15rem;overflow:visible}
line{stroke:var(--soft)}
text{fill:var(--quiet);font-size:.75rem;text-anchor:middle}
.e{text-anchor:end}
rect,path{fill:var(--accent);vector-effect:non-scaling-stroke}
rect{height:100%;rx:3px}
a rect{fill:transparent}
a:hover rect{fill:var(--ink);opacity:.1}
.p{fill:var(--soft);stroke:var(--accent);stroke-dasharray:3 2}
.w,.m{fill:var(--warm);color:var(--warm);font-weight:700}
.d{fill:none;stroke:var(--quiet);stroke-width:1.5;stroke-dasharray:4 3}
.legend,nav ul,ol,dl{padding:0;list-style:none;justify-content:start}
.legend svg{overflow:visible;width:.9rem;height:.9rem;margin-right:.4rem;vertical-align:-.1rem}
ol li{margin-top:3px;display:grid;grid-template-columns:1fr auto 3.2rem;gap:.5rem;padding:.3rem .5rem;position:relative}
ol svg{position:absolute;width:100%;height:100%}
ol rect{fill:var(--soft)}
ol span,ol b,ol small{position:relative}
ol a,ol small{color:inherit}
ol a:not(:hover){text-decoration:none}
ol small,td,th{text-align:right}
.meter{display:block;width:20rem;max-width:100%;height:.5rem;margin:.3rem 0;background:var(--soft)}
table{width:100%;border-collapse:collapse;overflow-wrap:normal}
details{overflow:auto}
td,th{padding:.25rem .5rem .25rem 0;border-bottom:1px solid var(--soft);font-weight:400}
th:first-child,td:last-child{text-align:left}
tbody th{white-space:nowrap}
input,button{font:inherit;padding:.4rem .8rem}
i{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
@media print{nav,footer{display:none}}`;
