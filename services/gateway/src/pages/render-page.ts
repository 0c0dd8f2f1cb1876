import { Eta } from 'eta'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { toString as qrCode } from 'qrcode'

const resolvePath = (name: string): string => join(import.meta.dirname, name)

// Templates write values escaped, except for the QR code. Other unescaped parts are templates or constants.
const eta = new Eta({ views: resolvePath('templates'), cache: true, autoEscape: true })

export type Asset = { readonly path: string; readonly type: string; readonly body: string }

const loadAsset = (name: string, type: string): Asset & { readonly href: string } => {
  const body = readFileSync(resolvePath(`assets/${name}`), 'utf8')
  const version = createHash('sha256').update(body).digest('base64url').slice(0, 12)
  return { path: `/assets/${name}`, href: `assets/${name}?v=${version}`, type, body }
}

/** Files that pages load. Their URLs contain a hash of the content, so that browsers may cache them for ever. */
const assetFiles = {
  style: loadAsset('pages.css', 'text/css'),
  script: loadAsset('live.mjs', 'text/javascript'),
  icon: loadAsset('icon.svg', 'image/svg+xml'),
}
export const assets: readonly Asset[] = Object.values(assetFiles)

export type Template = 'home' | 'checkout' | 'order' | 'missing' | 'failed'

/**
 * @returns a whole page
 * @param root the relative address of the start page, from `findRoot`
 * @param values the object that its template reads as `it`
 */
export const renderPage = (template: Template, root: string, values: object): string =>
  eta.render(template, {
    ...values,
    root,
    style: assetFiles.style.href,
    script: assetFiles.script.href,
    icon: assetFiles.icon.href,
  })

/**
 * Creates a QR code as inline SVG. An invoice in upper case makes a smaller code. The scheme would save nothing, and the filters
 * of some phones recognise it only in lower case.
 */
export const createQrCode = (invoice: string): Promise<string> =>
  qrCode(`lightning:${invoice.toUpperCase()}`, { type: 'svg', errorCorrectionLevel: 'L', margin: 2 })
