import { Eta } from 'eta'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { toString as qrCode } from 'qrcode'

const folder = (name: string): string => new URL(name, import.meta.url).pathname

// Everything that a template writes is escaped, unless it says otherwise: only the QR code does.
const eta = new Eta({ views: folder('templates'), cache: true, autoEscape: true })

export type Asset = { readonly path: string; readonly type: string; readonly body: string }

const asset = (name: string, type: string): Asset & { readonly href: string } => {
  const body = readFileSync(folder(`assets/${name}`), 'utf8')
  const version = createHash('sha256').update(body).digest('base64url').slice(0, 12)
  return { path: `/assets/${name}`, href: `/assets/${name}?v=${version}`, type, body }
}

/** What pages load. Their addresses change with what is in them, so browsers may keep them for ever. */
const files = {
  style: asset('pages.css', 'text/css'),
  script: asset('live.mjs', 'text/javascript'),
  icon: asset('icon.svg', 'image/svg+xml'),
}
export const assets: readonly Asset[] = Object.values(files)

export type Template = 'home' | 'checkout' | 'order' | 'missing'

/** @returns a whole page @param values what its template reads as `it` */
export const render = (template: Template, values: object): string =>
  eta.render(template, { ...values, style: files.style.href, script: files.script.href, icon: files.icon.href })

/** As inline SVG. Capitals make a smaller code, and wallets read them all the same. */
export const qrOf = (invoice: string): Promise<string> =>
  qrCode(`LIGHTNING:${invoice.toUpperCase()}`, { type: 'svg', errorCorrectionLevel: 'L', margin: 2 })
