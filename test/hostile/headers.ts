import fc from 'fast-check'
import { gzipSync } from 'node:zlib'
import { seldom } from './inputs.ts'

export type Sent = {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  readonly kinds: readonly string[]
}

const JSON_TYPE = { 'content-type': 'application/json' }
const utf16 = (text: string, mark: boolean): Buffer => Buffer.from(`${mark ? '\ufeff' : ''}${text}`, 'utf16le')
const swapped = (text: string): Buffer => utf16(text, true).swap16()

/** A text with bytes in it that are no UTF-8. */
function spoiled(text: string): Buffer {
  const bytes = Buffer.from(text)
  const at = Math.floor(bytes.length / 2)
  return Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf8]), bytes.subarray(at)])
}

const parts = (text: string): string =>
  ['operations', 'map', '0'].map((name) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`).join('') +
  '--b--\r\n'

/** Other ways to send a text than as JSON in UTF-8. */
const ways: Readonly<Record<string, (text: string) => Omit<Sent, 'kinds'>>> = {
  'no content type': (text) => ({ headers: {}, body: text }),
  'plain text': (text) => ({ headers: { 'content-type': 'text/plain' }, body: text }),
  form: (text) => ({
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `query=${encodeURIComponent(text)}`,
  }),
  multipart: (text) => ({ headers: { 'content-type': 'multipart/form-data; boundary=b' }, body: parts(text) }),
  'multipart without end': (text) => ({ headers: { 'content-type': 'multipart/form-data' }, body: parts(text).slice(0, -8) }),
  'GraphQL type': (text) => ({ headers: { 'content-type': 'application/graphql' }, body: text }),
  'JSON of another kind': (text) => ({ headers: { 'content-type': 'application/problem+json' }, body: text }),
  'odd content type': (text) => ({ headers: { 'content-type': 'application/json; charset=' }, body: text }),
  'two content types': (text) => ({ headers: { 'content-type': 'application/json, text/plain' }, body: text }),
  'unknown charset': (text) => ({ headers: { 'content-type': 'application/json; charset=utf-7' }, body: text }),
  'UTF-16': (text) => ({ headers: { 'content-type': 'application/json; charset=utf-16' }, body: utf16(text, true) }),
  'UTF-16 big end first': (text) => ({ headers: { 'content-type': 'application/json; charset=utf-16be' }, body: swapped(text) }),
  'UTF-16 that says UTF-8': (text) => ({ headers: JSON_TYPE, body: utf16(text, false) }),
  'UTF-32': (text) => ({ headers: { 'content-type': 'application/json; charset=utf-32' }, body: utf16(text, true) }),
  'invalid UTF-8': (text) => ({ headers: JSON_TYPE, body: spoiled(text) }),
  'byte order mark': (text) => ({ headers: JSON_TYPE, body: `\ufeff${text}` }),
  gzip: (text) => ({ headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: gzipSync(text) }),
  'gzip cut off': (text) => ({ headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: gzipSync(text).subarray(0, -9) }),
  'gzip that is none': (text) => ({ headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: text }),
  'gzip bomb': (text) => ({ headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: bomb(text) }),
  'twice gzip': (text) => ({ headers: { ...JSON_TYPE, 'content-encoding': 'gzip, gzip' }, body: gzipSync(gzipSync(text)) }),
  'brotli that is none': (text) => ({ headers: { ...JSON_TYPE, 'content-encoding': 'br' }, body: text }),
  'unknown encoding': (text) => ({ headers: { ...JSON_TYPE, 'content-encoding': 'rot13' }, body: text }),
  'JSON without its end': (text) => ({ headers: JSON_TYPE, body: text.slice(0, -1) }),
  'half of the JSON': (text) => ({ headers: JSON_TYPE, body: text.slice(0, text.length / 2) }),
  'nothing at all': () => ({ headers: JSON_TYPE, body: '' }),
}
export const wayKinds: readonly string[] = Object.keys(ways).map((way) => `sent: ${way}`)

const bombs = new Map<string, Buffer>()
/** 64 MiB of blanks behind a text, in 64 KiB; the same for all texts of one length. */
function bomb(text: string): Buffer {
  const known = bombs.get('') ?? gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20), { level: 9 })
  bombs.set('', known)
  // Members of a gzip file follow one another.
  return Buffer.concat([gzipSync(text), known])
}

const oddHeaders: readonly Readonly<Record<string, string>>[] = [
  { accept: 'text/html' },
  { accept: 'application/graphql-response+json' },
  { accept: 'multipart/mixed; deferSpec=20220824, */*' },
  { accept: '*/*;q=0' },
  { 'accept-encoding': 'gzip, br, x' },
  { 'x-request-id': '../../etc' },
  { 'x-request-id': 'a'.repeat(8000) },
  { 'x-forwarded-for': '1.1.1.1, 127.0.0.1', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
  { 'x-http-method-override': 'DELETE' },
  { origin: 'null', referer: 'javascript:alert(1)', cookie: 'session=1; __proto__=2' },
  { host: 'evil.example' },
  { 'if-none-match': '*', 'if-modified-since': 'x', range: 'bytes=0-,5-1,-0' },
  { __proto__x: '1', constructor: '1', tostring: '1' },
  { upgrade: 'h2c', 'http2-settings': 'AAMAAABk', connection: 'Upgrade, HTTP2-Settings' },
  { 'apollo-query-plan-experimental': '1', 'x-apollo-operation-name': '__proto__', 'apollographql-client-name': '\u00ff' },
  { 'transfer-encoding': 'chunked' },
]

/** Mostly as it should be sent. */
export const sending = (text: string): fc.Arbitrary<Sent> =>
  fc.tuple(seldom(8, fc.constantFrom(...Object.keys(ways))), seldom(8, fc.constantFrom(...oddHeaders))).map(([way, more]) => {
    const plain = (way === undefined ? undefined : ways[way]?.(text)) ?? { headers: JSON_TYPE, body: text }
    return {
      headers: { ...plain.headers, ...more },
      body: plain.body,
      kinds: [...(way === undefined ? [] : [`sent: ${way}`]), ...(more ? ['odd header'] : [])],
    }
  })
