const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Escapes text for a page, because the text of an error may contain markup. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign)

export function renderHtmlTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  numericFrom = head.length,
): string {
  const kind = (index: number): string => (index >= numericFrom ? ' class="n"' : '')
  const titles = head.map((text, index) => `<th${kind(index)}>${escapeHtml(text)}</th>`).join('')
  const body = rows.map((row) => `<tr>${row.map((text, index) => `<td${kind(index)}>${escapeHtml(text)}</td>`).join('')}</tr>`)
  return `<div class="wide"><table><thead><tr>${titles}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>`
}

/** Renders a self-contained page. Its content security policy forbids every other resource. */
export const renderHtmlPage = (title: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style></head>
<body><main>${body}</main></body></html>
`

const STYLE = `
:root{color-scheme:light dark;--bg:#fff;--fg:#1a2230;--dim:#5b6675;--line:#dde2e8;--card:#f6f8fa;--good:#0a7d4f;--bad:#b3261e;
--c0:#0072b2;--c1:#c75d00;--c2:#00805e;--c3:#a8488a;--c4:#6b6b6b;--c5:#8a6d00}
@media(prefers-color-scheme:dark){:root{--bg:#12161c;--fg:#e6e9ee;--dim:#9aa6b5;--line:#2b333e;--card:#1a2029;--good:#46c48f;--bad:#ff8a80;
--c0:#58b4e8;--c1:#f0923f;--c2:#35c29a;--c3:#dd8cc2;--c4:#a9a9a9;--c5:#d9b83f}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
main{max-width:1200px;margin:0 auto;padding:24px 20px 48px}h1{font-size:1.6rem;margin:0 0 4px}h2{font-size:1.15rem;margin:32px 0 10px}
p{margin:4px 0}.dim{color:var(--dim)}.verdict{font-weight:600}.good{color:var(--good)}.bad{color:var(--bad)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(115px,1fr));gap:12px;margin:18px 0}
.tiles div{background:var(--card);border-radius:8px;padding:10px 14px}.tiles b{display:block;font-size:1.4rem;font-variant-numeric:tabular-nums}
.grid2{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,420px),1fr));gap:20px 28px}
figure{margin:0;min-width:0}figcaption{font-weight:600;margin-bottom:2px}figure ul{display:flex;flex-wrap:wrap;gap:2px 14px;list-style:none;margin:0;padding:0;color:var(--dim);font-size:.85rem}
figure i{display:inline-block;width:12px;height:3px;margin:0 6px 3px 0}svg{width:100%;height:auto;display:block}
svg text{fill:var(--dim);font:11px system-ui,sans-serif}.grid{stroke:var(--line);stroke-width:1}
polyline{fill:none;stroke-width:1.6;stroke-linejoin:round}
${[0, 1, 2, 3, 4, 5].map((n) => `polyline.c${n}{stroke:var(--c${n})}circle.c${n}{fill:var(--c${n})}i.c${n}{background:var(--c${n})}`).join('')}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.92rem}th,td{text-align:left;padding:5px 10px;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--dim);font-weight:600}.n{text-align:right;font-variant-numeric:tabular-nums}td{overflow-wrap:anywhere}.n,table:has(.n) td:first-child{white-space:nowrap}td.good,td.bad,td.dim{white-space:nowrap}
.bar{display:grid;grid-template-columns:minmax(0,2fr) 3fr 3.5rem;gap:10px;align-items:center;font-size:.88rem;padding:2px 0}.bar span{overflow-wrap:anywhere}
.bar span:last-child{text-align:right;font-variant-numeric:tabular-nums}.track b{display:block;height:12px;min-width:2px;border-radius:2px;background:var(--c0)}.track b.bad{background:var(--bad)}
`
