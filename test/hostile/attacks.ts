import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Bytes } from './wire.ts'

/** What is sent on a connection of its own. `hangUp`: the sender goes away behind it. `wants`: what the answer begins with. */
export type Attack = { readonly name: string; readonly parts: readonly Bytes[]; readonly hangUp?: true; readonly wants?: RegExp }

const QUERY = '{"query":"{ market { offer { offers { total_count } } } }"}'
const CLOSE = 'connection: close\r\n'
const get = (path: string, more = '', version = '1.1'): string => `GET ${path} HTTP/${version}\r\nhost: x\r\n${more}${CLOSE}\r\n`
const post = (more: string, body: string, close = CLOSE): string =>
  `POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${more}${close}\r\n${body}`
const sized = (body: string, close = CLOSE): string => post(`content-length: ${Buffer.byteLength(body)}\r\n`, body, close)
const chunk = (text: string, extension = ''): string => `${Buffer.byteLength(text).toString(16)}${extension}\r\n${text}\r\n`
const chunked = (chunks: string): string => post('transfer-encoding: chunked\r\n', chunks)
const OK = /^HTTP\/1\.1 200 /
const REFUSED = /^HTTP\/1\.1 4\d\d /

const methods: readonly Attack[] = [
  { name: 'HTTP/1.0', parts: [get('/healthz', '', '1.0')], wants: OK },
  { name: 'HTTP/1.0 without host', parts: ['GET /healthz HTTP/1.0\r\n\r\n'], wants: OK },
  { name: 'HTTP/0.9', parts: ['GET /healthz\r\n\r\n'], wants: /^HTTP\/1\.1 / },
  { name: 'HTTP/9.9', parts: [get('/healthz', '', '9.9')], wants: REFUSED },
  { name: 'HTTP/2 preface', parts: ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'], hangUp: true },
  { name: 'TLS', parts: [Buffer.from('16030100c8010000c40303', 'hex'), randomBytes(190)], hangUp: true },
  { name: 'noise', parts: [randomBytes(5000)], hangUp: true },
  { name: 'nothing', parts: [], hangUp: true },
  { name: 'absolute form', parts: [get('http://evil.example/healthz')] },
  { name: 'absolute form of another scheme', parts: [get('file:///etc/passwd')] },
  { name: 'authority form', parts: ['CONNECT evil.example:443 HTTP/1.1\r\nhost: x\r\n\r\n'], hangUp: true },
  { name: 'asterisk form', parts: [`OPTIONS * HTTP/1.1\r\nhost: x\r\n${CLOSE}\r\n`] },
  { name: 'unknown method', parts: [get('/healthz').replace('GET', 'FOO')], wants: REFUSED },
  { name: 'small letters', parts: [get('/healthz').replace('GET', 'get')], wants: REFUSED },
  { name: 'endless method', parts: [get('/healthz').replace('GET', 'G'.repeat(50_000))], hangUp: true },
]

const paths: readonly Attack[] = [
  '/../../../../etc/passwd',
  '/assets/../../../../etc/passwd',
  '/assets/..%2f..%2f..%2fetc/passwd',
  '/%2e%2e/%2e%2e/operator/parked',
  '//operator//parked',
  '/operator/../operator/parked',
  '/Operator/Parked',
  '/operator%2fparked',
  '/assets/%00',
  '/checkout/%c0%ae%c0%ae/events',
  '/graphql/../graphql',
  '/api/lsp/v1/__proto__/get_info',
  '/api/lsp/v1/constructor/create_order',
  `/${'a/'.repeat(4000)}`,
  `/graphql?query=${'a'.repeat(15_000)}`,
  `/graphql?query=${'a'.repeat(200_000)}`,
].map((path) => ({ name: `path ${path.slice(0, 40)}`, parts: [get(path)], hangUp: true as const }))

const raws: readonly Attack[] = [
  { name: 'blank in the path', parts: [get('/a b c')] },
  { name: 'NUL in the path', parts: [get('/a\u0000b')] },
  { name: 'no host', parts: [`GET /healthz HTTP/1.1\r\n${CLOSE}\r\n`], wants: REFUSED },
  { name: 'two hosts', parts: [get('/healthz', 'host: y\r\n')] },
  { name: 'huge header', parts: [get('/healthz', `a: ${'b'.repeat(40_000)}\r\n`)], hangUp: true },
  {
    name: 'many headers',
    parts: [get('/healthz', Array.from({ length: 3000 }, (_, at) => `a${at}: b\r\n`).join(''))],
    hangUp: true,
  },
  { name: 'many headers of one name', parts: [get('/healthz', 'cookie: a=b\r\n'.repeat(900))] },
  { name: 'folded header', parts: [get('/healthz', 'a: b\r\n c\r\n')], wants: REFUSED },
  { name: 'NUL in a header', parts: [get('/healthz', 'a: b\u0000c\r\n')], wants: REFUSED },
  { name: 'blank before a colon', parts: [get('/healthz', 'content-length : 5\r\n')], wants: REFUSED },
  { name: 'header without colon', parts: [get('/healthz', 'nonsense\r\n')], wants: REFUSED },
  { name: 'bare line feeds', parts: [get('/healthz').replaceAll('\r\n', '\n')] },
  { name: 'bare carriage returns', parts: [get('/healthz').replaceAll('\r\n', '\r')], hangUp: true },
  { name: 'unicode in a header', parts: [get('/healthz', 'authorization: Bearer \u202e\u0661\r\n')] },
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
  },
]

const bodies: readonly Attack[] = [
  { name: 'chunked', parts: [chunked(chunk(QUERY.slice(0, 9)) + chunk(QUERY.slice(9)) + chunk(''))], wants: OK },
  { name: 'a byte a chunk', parts: [chunked([...Array.from(QUERY), ''].map((one) => chunk(one)).join(''))], wants: OK },
  { name: 'chunk extensions', parts: [chunked(chunk(QUERY, `;${'x'.repeat(30_000)}`) + chunk(''))], hangUp: true },
  { name: 'chunk trailers', parts: [chunked(`${chunk(QUERY)}0\r\nauthorization: Bearer x\r\n\r\n`)] },
  { name: 'huge chunk', parts: [chunked(`FFFFFFFFFFFFFFFF\r\n${QUERY}`)], hangUp: true },
  { name: 'negative chunk', parts: [chunked(`-5\r\n${QUERY}`)], wants: REFUSED },
  { name: 'chunks without end', parts: [chunked(chunk(QUERY))], hangUp: true },
  { name: 'chunks of more than a MiB', parts: [chunked(chunk('x'.repeat(600_000)).repeat(3) + chunk(''))] },
  {
    name: 'length and chunks',
    parts: [post('content-length: 4\r\ntransfer-encoding: chunked\r\n', chunk(QUERY) + chunk(''))],
    wants: REFUSED,
  },
  {
    name: 'odd transfer coding',
    parts: [post('transfer-encoding: chunked, identity\r\n', chunk(QUERY) + chunk(''))],
    hangUp: true,
  },
  { name: 'two lengths', parts: [post(`content-length: 5\r\ncontent-length: 6\r\n`, QUERY)], wants: REFUSED },
  { name: 'negative length', parts: [post('content-length: -1\r\n', QUERY)], wants: REFUSED },
  { name: 'huge length', parts: [post(`content-length: ${'9'.repeat(30)}\r\n`, QUERY)], hangUp: true },
  { name: 'length beyond the limit', parts: [post('content-length: 99999999\r\n', QUERY)], hangUp: true },
  { name: 'length with a sign', parts: [post(`content-length: +${QUERY.length}\r\n`, QUERY)], wants: REFUSED },
  { name: 'cut in a header', parts: ['POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-'], hangUp: true },
  { name: 'cut in the body', parts: [post('content-length: 500\r\n', QUERY)], hangUp: true },
  {
    name: 'cut in gzip',
    parts: [post('content-encoding: gzip\r\ncontent-length: 60\r\n', ''), gzipSync(QUERY).subarray(0, 20)],
    hangUp: true,
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
  { name: 'pipelined with noise', parts: [sized(QUERY, '') + '\u0000\u0001'.repeat(100) + get('/healthz')], hangUp: true },
  { name: 'a request within a body', parts: [sized(`${QUERY}\r\n\r\n${get('/operator/parked')}`)] },
]

export const attacks: readonly Attack[] = [...methods, ...paths, ...raws, ...bodies]
