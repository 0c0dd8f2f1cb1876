import fc from 'fast-check'
import { gzipSync } from 'node:zlib'
import { sometimes } from './inputs.ts'

export type EncodedRequest = {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  readonly kinds: readonly string[]
}

const JSON_TYPE = { 'content-type': 'application/json' }
const encodeUtf16 = (text: string, hasByteOrderMark: boolean): Buffer =>
  Buffer.from(`${hasByteOrderMark ? '\ufeff' : ''}${text}`, 'utf16le')
const encodeUtf16BigEndian = (text: string): Buffer => encodeUtf16(text, true).swap16()

/** Inserts invalid UTF-8 bytes into a text. */
function withInvalidBytes(text: string): Buffer {
  const bytes = Buffer.from(text)
  const at = Math.floor(bytes.length / 2)
  return Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf8]), bytes.subarray(at)])
}

const buildMultipart = (text: string): string =>
  ['operations', 'map', '0'].map((name) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`).join('') +
  '--b--\r\n'

/** Unusual ways to send a text. The normal way is JSON in UTF-8. */
const encodings: Readonly<Record<string, (text: string) => Omit<EncodedRequest, 'kinds'>>> = {
  'no content type': (text) => ({ headers: {}, body: text }),
  'plain text': (text) => ({ headers: { 'content-type': 'text/plain' }, body: text }),
  form: (text) => ({
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `query=${encodeURIComponent(text)}`,
  }),
  multipart: (text) => ({ headers: { 'content-type': 'multipart/form-data; boundary=b' }, body: buildMultipart(text) }),
  'multipart without end': (text) => ({
    headers: { 'content-type': 'multipart/form-data' },
    body: buildMultipart(text).slice(0, -8),
  }),
  'GraphQL type': (text) => ({ headers: { 'content-type': 'application/graphql' }, body: text }),
  'JSON of another kind': (text) => ({ headers: { 'content-type': 'application/problem+json' }, body: text }),
  'odd content type': (text) => ({ headers: { 'content-type': 'application/json; charset=' }, body: text }),
  'two content types': (text) => ({ headers: { 'content-type': 'application/json, text/plain' }, body: text }),
  'unknown charset': (text) => ({ headers: { 'content-type': 'application/json; charset=utf-7' }, body: text }),
  'UTF-16': (text) => ({ headers: { 'content-type': 'application/json; charset=utf-16' }, body: encodeUtf16(text, true) }),
  'UTF-16 big end first': (text) => ({
    headers: { 'content-type': 'application/json; charset=utf-16be' },
    body: encodeUtf16BigEndian(text),
  }),
  'UTF-16 that says UTF-8': (text) => ({ headers: JSON_TYPE, body: encodeUtf16(text, false) }),
  'UTF-32': (text) => ({ headers: { 'content-type': 'application/json; charset=utf-32' }, body: encodeUtf16(text, true) }),
  'invalid UTF-8': (text) => ({ headers: JSON_TYPE, body: withInvalidBytes(text) }),
  'byte order mark': (text) => ({ headers: JSON_TYPE, body: `\ufeff${text}` }),
  gzip: (text) => ({ headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: gzipSync(text) }),
  'gzip cut off': (text) => ({ headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: gzipSync(text).subarray(0, -9) }),
  'gzip that is none': (text) => ({ headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: text }),
  'gzip bomb': (text) => ({ headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: buildGzipBomb(text) }),
  'twice gzip': (text) => ({ headers: { ...JSON_TYPE, 'content-encoding': 'gzip, gzip' }, body: gzipSync(gzipSync(text)) }),
  'brotli that is none': (text) => ({ headers: { ...JSON_TYPE, 'content-encoding': 'br' }, body: text }),
  'unknown encoding': (text) => ({ headers: { ...JSON_TYPE, 'content-encoding': 'rot13' }, body: text }),
  'JSON without its end': (text) => ({ headers: JSON_TYPE, body: text.slice(0, -1) }),
  'half of the JSON': (text) => ({ headers: JSON_TYPE, body: text.slice(0, text.length / 2) }),
  'nothing at all': () => ({ headers: JSON_TYPE, body: '' }),
}
export const encodingKinds: readonly string[] = Object.keys(encodings).map((encoding) => `sent: ${encoding}`)

const gzipBombs = new Map<string, Buffer>()
/** Appends 64 MiB of blanks, compressed to 64 KiB, to a text. The blanks are compressed only once. */
function buildGzipBomb(text: string): Buffer {
  const cached = gzipBombs.get('') ?? gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20), { level: 9 })
  gzipBombs.set('', cached)
  // A gzip file can have several members, one after the other.
  return Buffer.concat([gzipSync(text), cached])
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

/** Generates an encoding of a text, in most cases JSON in UTF-8. */
export const generateEncoding = (text: string): fc.Arbitrary<EncodedRequest> =>
  fc
    .tuple(sometimes(8, fc.constantFrom(...Object.keys(encodings))), sometimes(8, fc.constantFrom(...oddHeaders)))
    .map(([encoding, extraHeaders]) => {
      const encoded = (encoding === undefined ? undefined : encodings[encoding]?.(text)) ?? { headers: JSON_TYPE, body: text }
      return {
        headers: { ...encoded.headers, ...extraHeaders },
        body: encoded.body,
        kinds: [...(encoding === undefined ? [] : [`sent: ${encoding}`]), ...(extraHeaders ? ['odd header'] : [])],
      }
    })
