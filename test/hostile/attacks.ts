import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Bytes } from './wire.ts'

/** What is sent on a connection of its own. `hangUp`: the sender goes away behind it. `wants`: what the answer has to be, or begin with. */
export type Attack = { readonly name: string; readonly parts: readonly Bytes[]; readonly hangUp?: true; readonly wants: RegExp }

const QUERY = '{"query":"{ market { offer { offers { total_count } } } }"}'
const CLOSE = 'connection: close\r\n'
const get = (path: string, more = '', version = '1.1'): string => `GET ${path} HTTP/${version}\r\nhost: x\r\n${more}${CLOSE}\r\n`
const post = (more: string, body: string, close = CLOSE): string =>
  `POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${more}${close}\r\n${body}`
const sized = (body: string, close = CLOSE): string => post(`content-length: ${Buffer.byteLength(body)}\r\n`, body, close)
export const chunk = (text: string, extension = ''): string =>
  `${Buffer.byteLength(text).toString(16)}${extension}\r\n${text}\r\n`
const chunked = (chunks: string): string => post('transfer-encoding: chunked\r\n', chunks)
const OK = /^HTTP\/1\.1 200 /
const REFUSED = /^HTTP\/1\.1 4\d\d /
/** Node's own word, without a body; or nothing, where a reset overtook it. */
export const CUT_SHORT = /^(?:HTTP\/1\.1 4\d\d [^\r\n]+\r\nconnection: close\r\n\r\n)?$/i
const NOTHING = /^$/
const TOO_LONG = /^(?:HTTP\/1\.1 431 [^\r\n]+\r\nconnection: close\r\n\r\n)?$/i
const EXPLORER = /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n<!doctype html>/

/** An answer of this status with this sentence, and with nothing behind it. */
export const says = (status: number, body: string): RegExp =>
  new RegExp(`^HTTP/1\\.1 ${status} [^\\r\\n]+\\r\\n(?:[^\\r\\n]+\\r\\n)+\\r\\n${body}\\s*$`)
const NOWHERE = says(404, '\\{"statusCode":404,"message":"There is nothing at this address\\."\\}')
const MALFORMED = says(400, '\\{"statusCode":400,"message":"The request is malformed\\."\\}')
const LOCKED = says(401, '\\{"error":"The operator\'s token is missing or wrong[^"]*"\\}')
const NO_TYPE = says(404, '\\{"statusCode":404,"message":"The type must be recommended or cheapest\\.","error":\\{[^]*\\}\\}')

const methods: readonly Attack[] = [
  { name: 'HTTP/1.0', parts: [get('/healthz', '', '1.0')], wants: OK },
  { name: 'HTTP/1.0 without host', parts: ['GET /healthz HTTP/1.0\r\n\r\n'], wants: OK },
  { name: 'HTTP/0.9', parts: ['GET /healthz\r\n\r\n'], wants: /^HTTP\/1\.1 / },
  { name: 'HTTP/9.9', parts: [get('/healthz', '', '9.9')], wants: REFUSED },
  { name: 'HTTP/2 preface', parts: ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'], hangUp: true, wants: CUT_SHORT },
  { name: 'TLS', parts: [Buffer.from('16030100c8010000c40303', 'hex'), randomBytes(190)], hangUp: true, wants: CUT_SHORT },
  { name: 'noise', parts: [randomBytes(5000)], hangUp: true, wants: CUT_SHORT },
  { name: 'nothing', parts: [], hangUp: true, wants: NOTHING },
  { name: 'absolute form', parts: [get('http://evil.example/healthz')], wants: OK },
  { name: 'absolute form of another scheme', parts: [get('file:///etc/passwd')], wants: NOWHERE },
  { name: 'authority form', parts: ['CONNECT evil.example:443 HTTP/1.1\r\nhost: x\r\n\r\n'], hangUp: true, wants: NOTHING },
  { name: 'asterisk form', parts: [`OPTIONS * HTTP/1.1\r\nhost: x\r\n${CLOSE}\r\n`], wants: NOWHERE },
  { name: 'unknown method', parts: [get('/healthz').replace('GET', 'FOO')], wants: REFUSED },
  { name: 'small letters', parts: [get('/healthz').replace('GET', 'get')], wants: REFUSED },
  { name: 'endless method', parts: [get('/healthz').replace('GET', 'G'.repeat(50_000))], hangUp: true, wants: CUT_SHORT },
]

const COUNTED = says(200, '\\{"data":\\{"market":\\{"offer":\\{"offers":\\{"total_count":\\d+\\}\\}\\}\\}\\}')
const refusal = (sentence: string): string =>
  `\\{"errors":\\[\\{"message":"${sentence}","extensions":\\{"code":"GRAPHQL_VALIDATION_FAILED"\\}\\}\\]\\}`
const TOO_LARGE = says(413, refusal('The body is larger than 1 MiB\\.'))
const NO_JSON = says(200, refusal('The body is not valid JSON\\.'))

/** Paths that lead out of where they begin, or around a door; and what is to be said to whoever tries one without a key. */
const WAYS: readonly (readonly [string, RegExp])[] = [
  ['/../../../../etc/passwd', NOWHERE],
  ['/assets/../../../../etc/passwd', NOWHERE],
  ['/assets/..%2f..%2f..%2fetc/passwd', NOWHERE],
  ['/%2e%2e/%2e%2e/operator/parked', NOWHERE],
  ['//operator//parked', NOWHERE],
  ['/operator//parked', LOCKED],
  ['/operator/../operator/parked', LOCKED],
  ['/operator/%2e%2e/operator/parked', LOCKED],
  ['/Operator/Parked', LOCKED],
  ['/OPERATOR/parked/', LOCKED],
  ['/oper%61tor/parked', NOWHERE],
  ['/operator%2fparked', NOWHERE],
  ['/operator;a=b/parked', NOWHERE],
  ['/assets/%00', NOWHERE],
  ['/checkout/%c0%ae%c0%ae/events', MALFORMED],
  ['/graphql/../graphql', NOWHERE],
  ['/api/lsp/v1/__proto__/get_info', NO_TYPE],
  ['/api/lsp/v1/constructor/create_order', NO_TYPE],
  [`/${'a/'.repeat(4000)}`, NOWHERE],
  // The explorer, which is the same whatever is asked for beside.
  [`/graphql?query=${'a'.repeat(15_000)}`, EXPLORER],
  [`/graphql?query=${'a'.repeat(200_000)}`, TOO_LONG],
]
const paths: readonly Attack[] = WAYS.map(([path, wants]) => ({ name: `path ${path.slice(0, 40)}`, parts: [get(path)], wants }))

const raws: readonly Attack[] = [
  { name: 'blank in the path', parts: [get('/a b c')], wants: REFUSED },
  { name: 'NUL in the path', parts: [get('/a\u0000b')], wants: REFUSED },
  { name: 'no host', parts: [`GET /healthz HTTP/1.1\r\n${CLOSE}\r\n`], wants: REFUSED },
  { name: 'two hosts', parts: [get('/healthz', 'host: y\r\n')], wants: OK },
  { name: 'huge header', parts: [get('/healthz', `a: ${'b'.repeat(40_000)}\r\n`)], hangUp: true, wants: CUT_SHORT },
  {
    name: 'many headers',
    parts: [get('/healthz', Array.from({ length: 3000 }, (_, at) => `a${at}: b\r\n`).join(''))],
    hangUp: true,
    wants: CUT_SHORT,
  },
  { name: 'many headers of one name', parts: [get('/healthz', 'cookie: a=b\r\n'.repeat(900))], wants: OK },
  { name: 'folded header', parts: [get('/healthz', 'a: b\r\n c\r\n')], wants: REFUSED },
  { name: 'NUL in a header', parts: [get('/healthz', 'a: b\u0000c\r\n')], wants: REFUSED },
  { name: 'blank before a colon', parts: [get('/healthz', 'content-length : 5\r\n')], wants: REFUSED },
  { name: 'header without colon', parts: [get('/healthz', 'nonsense\r\n')], wants: REFUSED },
  { name: 'bare line feeds', parts: [get('/healthz').replaceAll('\r\n', '\n')], wants: REFUSED },
  { name: 'bare carriage returns', parts: [get('/healthz').replaceAll('\r\n', '\r')], hangUp: true, wants: CUT_SHORT },
  { name: 'unicode in a header', parts: [get('/healthz', 'authorization: Bearer \u202e\u0661\r\n')], wants: OK },
  {
    name: 'two credentials',
    parts: [get('/operator/parked', 'authorization: Bearer a\r\nauthorization: Bearer b\r\n')],
    wants: /^HTTP\/1\.1 401 /,
  },
  { name: 'prototype headers', parts: [get('/healthz', '__proto__: a\r\nconstructor: b\r\ntoString: c\r\n')], wants: OK },
  {
    name: 'web socket',
    parts: [get('/graphql', 'upgrade: websocket\r\nsec-websocket-key: x\r\n').replace(CLOSE, 'connection: upgrade\r\n')],
    hangUp: true,
    wants: EXPLORER,
  },
]

const bodies: readonly Attack[] = [
  { name: 'chunked', parts: [chunked(chunk(QUERY.slice(0, 9)) + chunk(QUERY.slice(9)) + chunk(''))], wants: OK },
  { name: 'a byte a chunk', parts: [chunked([...Array.from(QUERY), ''].map((one) => chunk(one)).join(''))], wants: OK },
  {
    name: 'chunk extensions',
    parts: [chunked(chunk(QUERY, `;${'x'.repeat(30_000)}`) + chunk(''))],
    hangUp: true,
    wants: CUT_SHORT,
  },
  { name: 'chunk trailers', parts: [chunked(`${chunk(QUERY)}0\r\nauthorization: Bearer x\r\n\r\n`)], wants: COUNTED },
  { name: 'huge chunk', parts: [chunked(`FFFFFFFFFFFFFFFF\r\n${QUERY}`)], hangUp: true, wants: CUT_SHORT },
  { name: 'negative chunk', parts: [chunked(`-5\r\n${QUERY}`)], wants: REFUSED },
  { name: 'chunks without end', parts: [chunked(chunk(QUERY))], hangUp: true, wants: CUT_SHORT },
  { name: 'chunks of more than a MiB', parts: [chunked(chunk('x'.repeat(600_000)).repeat(3) + chunk(''))], wants: TOO_LARGE },
  {
    name: 'length and chunks',
    parts: [post('content-length: 4\r\ntransfer-encoding: chunked\r\n', chunk(QUERY) + chunk(''))],
    wants: REFUSED,
  },
  {
    name: 'odd transfer coding',
    parts: [post('transfer-encoding: chunked, identity\r\n', chunk(QUERY) + chunk(''))],
    hangUp: true,
    wants: CUT_SHORT,
  },
  { name: 'two lengths', parts: [post(`content-length: 5\r\ncontent-length: 6\r\n`, QUERY)], wants: REFUSED },
  { name: 'negative length', parts: [post('content-length: -1\r\n', QUERY)], wants: REFUSED },
  { name: 'huge length', parts: [post(`content-length: ${'9'.repeat(30)}\r\n`, QUERY)], hangUp: true, wants: CUT_SHORT },
  { name: 'length beyond the limit', parts: [post('content-length: 99999999\r\n', QUERY)], hangUp: true, wants: CUT_SHORT },
  { name: 'length with a sign', parts: [post(`content-length: +${QUERY.length}\r\n`, QUERY)], wants: REFUSED },
  { name: 'cut in a header', parts: ['POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-'], hangUp: true, wants: CUT_SHORT },
  { name: 'cut in the body', parts: [post('content-length: 500\r\n', QUERY)], hangUp: true, wants: CUT_SHORT },
  {
    name: 'cut in gzip',
    parts: [post('content-encoding: gzip\r\ncontent-length: 60\r\n', ''), gzipSync(QUERY).subarray(0, 20)],
    hangUp: true,
    wants: CUT_SHORT,
  },
  {
    name: 'expects to go on',
    parts: [post(`expect: 100-continue\r\ncontent-length: ${QUERY.length}\r\n`, QUERY)],
    wants: /^HTTP\/1\.1 100 /,
  },
  {
    name: 'expects nonsense',
    parts: [post(`expect: coffee\r\ncontent-length: ${QUERY.length}\r\n`, QUERY)],
    wants: /^HTTP\/1\.1 417 /,
  },
  { name: 'a body for GET', parts: [get('/readyz', `content-length: ${QUERY.length}\r\n`) + QUERY], wants: OK },
  { name: 'pipelined', parts: [get('/healthz').replace(CLOSE, '').repeat(200) + sized(QUERY)], wants: OK },
  { name: 'pipelined bodies', parts: [sized(QUERY, '').repeat(50) + sized(QUERY)], wants: OK },
  {
    name: 'pipelined with noise',
    parts: [sized(QUERY, '') + '\u0000\u0001'.repeat(100) + get('/healthz')],
    hangUp: true,
    wants: REFUSED,
  },
  { name: 'a request within a body', parts: [sized(`${QUERY}\r\n\r\n${get('/operator/parked')}`)], wants: NO_JSON },
]

export const attacks: readonly Attack[] = [...methods, ...paths, ...raws, ...bodies]
