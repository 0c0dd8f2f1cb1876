import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { RawBytes } from '../raw-connection.ts'

/**
 * A malformed request on its own connection. `hangUp`: the sender closes the connection afterwards. `expected`: the whole
 * answer, or its beginning.
 */
export type Attack = {
  readonly name: string
  readonly parts: readonly RawBytes[]
  readonly hangUp?: true
  readonly expected: RegExp
}

const QUERY = '{"query":"{ market { offer { offers { total_count } } } }"}'
const CLOSE_HEADER = 'connection: close\r\n'
const buildGet = (path: string, more = '', version = '1.1'): string =>
  `GET ${path} HTTP/${version}\r\nhost: x\r\n${more}${CLOSE_HEADER}\r\n`
const buildPost = (more: string, body: string, close = CLOSE_HEADER): string =>
  `POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${more}${close}\r\n${body}`
const buildPostWithLength = (body: string, close = CLOSE_HEADER): string =>
  buildPost(`content-length: ${Buffer.byteLength(body)}\r\n`, body, close)
export const encodeChunk = (text: string, extension = ''): string =>
  `${Buffer.byteLength(text).toString(16)}${extension}\r\n${text}\r\n`
const buildPostChunked = (chunks: string): string => buildPost('transfer-encoding: chunked\r\n', chunks)
const OK_RESPONSE = /^HTTP\/1\.1 200 /
const CLIENT_ERROR = /^HTTP\/1\.1 4\d\d /
/** The refusal of Node's HTTP server, without a body. It is empty if a connection reset arrives before the answer. */
export const ABORTED = /^(?:HTTP\/1\.1 4\d\d [^\r\n]+\r\nconnection: close\r\n\r\n)?$/i
const NO_RESPONSE = /^$/
const HEADERS_TOO_LONG = /^(?:HTTP\/1\.1 431 [^\r\n]+\r\nconnection: close\r\n\r\n)?$/i

/** Matches an answer with this status and body, and nothing after it. */
export const matchResponse = (status: number, body: string): RegExp =>
  new RegExp(`^HTTP/1\\.1 ${status} [^\\r\\n]+\\r\\n(?:[^\\r\\n]+\\r\\n)+\\r\\n${body}\\s*$`)
const NOT_FOUND = matchResponse(404, '\\{"statusCode":404,"message":"There is nothing at this address\\."\\}')
const MALFORMED = matchResponse(400, '\\{"statusCode":400,"message":"The request is malformed\\."\\}')
const UNAUTHORIZED = matchResponse(401, '\\{"error":"The operator\'s token is missing or wrong[^"]*"\\}')
const UNKNOWN_TYPE = matchResponse(
  404,
  '\\{"statusCode":404,"message":"The type must be recommended or cheapest\\.","error":\\{[^]*\\}\\}',
)

const methodAttacks: readonly Attack[] = [
  { name: 'HTTP/1.0', parts: [buildGet('/healthz', '', '1.0')], expected: OK_RESPONSE },
  { name: 'HTTP/1.0 without host', parts: ['GET /healthz HTTP/1.0\r\n\r\n'], expected: OK_RESPONSE },
  { name: 'HTTP/0.9', parts: ['GET /healthz\r\n\r\n'], expected: /^HTTP\/1\.1 / },
  { name: 'HTTP/9.9', parts: [buildGet('/healthz', '', '9.9')], expected: CLIENT_ERROR },
  { name: 'HTTP/2 preface', parts: ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'], hangUp: true, expected: ABORTED },
  { name: 'TLS', parts: [Buffer.from('16030100c8010000c40303', 'hex'), randomBytes(190)], hangUp: true, expected: ABORTED },
  { name: 'noise', parts: [randomBytes(5000)], hangUp: true, expected: ABORTED },
  { name: 'nothing', parts: [], hangUp: true, expected: NO_RESPONSE },
  { name: 'absolute form', parts: [buildGet('http://evil.example/healthz')], expected: OK_RESPONSE },
  { name: 'absolute form of another scheme', parts: [buildGet('file:///etc/passwd')], expected: NOT_FOUND },
  {
    name: 'authority form',
    parts: ['CONNECT evil.example:443 HTTP/1.1\r\nhost: x\r\n\r\n'],
    hangUp: true,
    expected: NO_RESPONSE,
  },
  { name: 'asterisk form', parts: [`OPTIONS * HTTP/1.1\r\nhost: x\r\n${CLOSE_HEADER}\r\n`], expected: NOT_FOUND },
  { name: 'unknown method', parts: [buildGet('/healthz').replace('GET', 'FOO')], expected: CLIENT_ERROR },
  { name: 'small letters', parts: [buildGet('/healthz').replace('GET', 'get')], expected: CLIENT_ERROR },
  { name: 'endless method', parts: [buildGet('/healthz').replace('GET', 'G'.repeat(50_000))], hangUp: true, expected: ABORTED },
]

const COUNT_RESULT = matchResponse(200, '\\{"data":\\{"market":\\{"offer":\\{"offers":\\{"total_count":\\d+\\}\\}\\}\\}\\}')
const buildGraphqlErrorPattern = (message: string): string =>
  `\\{"errors":\\[\\{"message":"${message}","extensions":\\{"code":"GRAPHQL_VALIDATION_FAILED"\\}\\}\\]\\}`
const TOO_LARGE = matchResponse(413, buildGraphqlErrorPattern('The body is larger than 1 MiB\\.'))
const INVALID_JSON = matchResponse(200, buildGraphqlErrorPattern('The body is not valid JSON\\.'))

/** Paths that may leave their root folder or bypass the check of the operator's token, with the answer without a token. */
const PATH_ATTACKS: readonly (readonly [string, RegExp])[] = [
  ['/../../../../etc/passwd', NOT_FOUND],
  ['/assets/../../../../etc/passwd', NOT_FOUND],
  ['/assets/..%2f..%2f..%2fetc/passwd', NOT_FOUND],
  ['/%2e%2e/%2e%2e/operator/parked', NOT_FOUND],
  ['//operator//parked', NOT_FOUND],
  ['/operator//parked', UNAUTHORIZED],
  ['/operator/../operator/parked', UNAUTHORIZED],
  ['/operator/%2e%2e/operator/parked', UNAUTHORIZED],
  ['/Operator/Parked', UNAUTHORIZED],
  ['/OPERATOR/parked/', UNAUTHORIZED],
  ['/oper%61tor/parked', NOT_FOUND],
  ['/operator%2fparked', NOT_FOUND],
  ['/operator;a=b/parked', NOT_FOUND],
  ['/assets/%00', NOT_FOUND],
  ['/checkout/%c0%ae%c0%ae/events', MALFORMED],
  ['/graphql/../graphql', NOT_FOUND],
  ['/api/lsp/v1/__proto__/get_info', UNKNOWN_TYPE],
  ['/api/lsp/v1/constructor/create_order', UNKNOWN_TYPE],
  [`/${'a/'.repeat(4000)}`, NOT_FOUND],
  [
    `/graphql?query=${'a'.repeat(15_000)}`,
    matchResponse(200, '\\{"errors":\\[\\{"message":"Syntax Error: [^\\r\\n]*"GRAPHQL_VALIDATION_FAILED"\\}\\}\\]\\}'),
  ],
  [`/graphql?query=${'a'.repeat(200_000)}`, HEADERS_TOO_LONG],
]
const pathAttacks: readonly Attack[] = PATH_ATTACKS.map(([path, expected]) => ({
  name: `path ${path.slice(0, 40)}`,
  parts: [buildGet(path)],
  expected,
}))

const headerAttacks: readonly Attack[] = [
  { name: 'blank in the path', parts: [buildGet('/a b c')], expected: CLIENT_ERROR },
  { name: 'NUL in the path', parts: [buildGet('/a\u0000b')], expected: CLIENT_ERROR },
  { name: 'no host', parts: [`GET /healthz HTTP/1.1\r\n${CLOSE_HEADER}\r\n`], expected: CLIENT_ERROR },
  { name: 'two hosts', parts: [buildGet('/healthz', 'host: y\r\n')], expected: OK_RESPONSE },
  { name: 'huge header', parts: [buildGet('/healthz', `a: ${'b'.repeat(40_000)}\r\n`)], hangUp: true, expected: ABORTED },
  {
    name: 'many headers',
    parts: [buildGet('/healthz', Array.from({ length: 3000 }, (_, at) => `a${at}: b\r\n`).join(''))],
    hangUp: true,
    expected: ABORTED,
  },
  { name: 'many headers of one name', parts: [buildGet('/healthz', 'cookie: a=b\r\n'.repeat(900))], expected: OK_RESPONSE },
  { name: 'folded header', parts: [buildGet('/healthz', 'a: b\r\n c\r\n')], expected: CLIENT_ERROR },
  { name: 'NUL in a header', parts: [buildGet('/healthz', 'a: b\u0000c\r\n')], expected: CLIENT_ERROR },
  { name: 'blank before a colon', parts: [buildGet('/healthz', 'content-length : 5\r\n')], expected: CLIENT_ERROR },
  { name: 'header without colon', parts: [buildGet('/healthz', 'nonsense\r\n')], expected: CLIENT_ERROR },
  { name: 'bare line feeds', parts: [buildGet('/healthz').replaceAll('\r\n', '\n')], expected: CLIENT_ERROR },
  { name: 'bare carriage returns', parts: [buildGet('/healthz').replaceAll('\r\n', '\r')], hangUp: true, expected: ABORTED },
  { name: 'unicode in a header', parts: [buildGet('/healthz', 'authorization: Bearer \u202e\u0661\r\n')], expected: OK_RESPONSE },
  {
    name: 'two credentials',
    parts: [buildGet('/operator/parked', 'authorization: Bearer a\r\nauthorization: Bearer b\r\n')],
    expected: /^HTTP\/1\.1 401 /,
  },
  {
    name: 'prototype headers',
    parts: [buildGet('/healthz', '__proto__: a\r\nconstructor: b\r\ntoString: c\r\n')],
    expected: OK_RESPONSE,
  },
  {
    name: 'web socket',
    parts: [
      buildGet('/graphql', 'upgrade: websocket\r\nsec-websocket-key: x\r\n').replace(CLOSE_HEADER, 'connection: upgrade\r\n'),
    ],
    hangUp: true,
    expected: matchResponse(200, buildGraphqlErrorPattern('query must be a text with a GraphQL document\\.')),
  },
]

const bodyAttacks: readonly Attack[] = [
  {
    name: 'chunked',
    parts: [buildPostChunked(encodeChunk(QUERY.slice(0, 9)) + encodeChunk(QUERY.slice(9)) + encodeChunk(''))],
    expected: OK_RESPONSE,
  },
  {
    name: 'one byte per chunk',
    parts: [buildPostChunked([...Array.from(QUERY), ''].map((one) => encodeChunk(one)).join(''))],
    expected: OK_RESPONSE,
  },
  {
    name: 'chunk extensions',
    parts: [buildPostChunked(encodeChunk(QUERY, `;${'x'.repeat(30_000)}`) + encodeChunk(''))],
    hangUp: true,
    expected: ABORTED,
  },
  {
    name: 'chunk trailers',
    parts: [buildPostChunked(`${encodeChunk(QUERY)}0\r\nauthorization: Bearer x\r\n\r\n`)],
    expected: COUNT_RESULT,
  },
  { name: 'huge chunk', parts: [buildPostChunked(`FFFFFFFFFFFFFFFF\r\n${QUERY}`)], hangUp: true, expected: ABORTED },
  { name: 'negative chunk', parts: [buildPostChunked(`-5\r\n${QUERY}`)], expected: CLIENT_ERROR },
  { name: 'chunks without end', parts: [buildPostChunked(encodeChunk(QUERY))], hangUp: true, expected: ABORTED },
  {
    name: 'chunks of more than a MiB',
    parts: [buildPostChunked(encodeChunk('x'.repeat(600_000)).repeat(3) + encodeChunk(''))],
    expected: TOO_LARGE,
  },
  {
    name: 'length and chunks',
    parts: [buildPost('content-length: 4\r\ntransfer-encoding: chunked\r\n', encodeChunk(QUERY) + encodeChunk(''))],
    expected: CLIENT_ERROR,
  },
  {
    name: 'odd transfer coding',
    parts: [buildPost('transfer-encoding: chunked, identity\r\n', encodeChunk(QUERY) + encodeChunk(''))],
    hangUp: true,
    expected: ABORTED,
  },
  { name: 'two lengths', parts: [buildPost(`content-length: 5\r\ncontent-length: 6\r\n`, QUERY)], expected: CLIENT_ERROR },
  { name: 'negative length', parts: [buildPost('content-length: -1\r\n', QUERY)], expected: CLIENT_ERROR },
  { name: 'huge length', parts: [buildPost(`content-length: ${'9'.repeat(30)}\r\n`, QUERY)], hangUp: true, expected: ABORTED },
  { name: 'length beyond the limit', parts: [buildPost('content-length: 99999999\r\n', QUERY)], hangUp: true, expected: ABORTED },
  { name: 'length with a sign', parts: [buildPost(`content-length: +${QUERY.length}\r\n`, QUERY)], expected: CLIENT_ERROR },
  { name: 'cut in a header', parts: ['POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-'], hangUp: true, expected: ABORTED },
  { name: 'cut in the body', parts: [buildPost('content-length: 500\r\n', QUERY)], hangUp: true, expected: ABORTED },
  {
    name: 'cut in gzip',
    parts: [buildPost('content-encoding: gzip\r\ncontent-length: 60\r\n', ''), gzipSync(QUERY).subarray(0, 20)],
    hangUp: true,
    expected: ABORTED,
  },
  {
    name: 'expects 100-continue',
    parts: [buildPost(`expect: 100-continue\r\ncontent-length: ${QUERY.length}\r\n`, QUERY)],
    expected: /^HTTP\/1\.1 100 /,
  },
  {
    name: 'expects nonsense',
    parts: [buildPost(`expect: coffee\r\ncontent-length: ${QUERY.length}\r\n`, QUERY)],
    expected: /^HTTP\/1\.1 417 /,
  },
  { name: 'a body for GET', parts: [buildGet('/readyz', `content-length: ${QUERY.length}\r\n`) + QUERY], expected: OK_RESPONSE },
  {
    name: 'pipelined',
    parts: [buildGet('/healthz').replace(CLOSE_HEADER, '').repeat(200) + buildPostWithLength(QUERY)],
    expected: OK_RESPONSE,
  },
  {
    name: 'pipelined bodies',
    parts: [buildPostWithLength(QUERY, '').repeat(50) + buildPostWithLength(QUERY)],
    expected: OK_RESPONSE,
  },
  {
    name: 'pipelined with noise',
    parts: [buildPostWithLength(QUERY, '') + '\u0000\u0001'.repeat(100) + buildGet('/healthz')],
    hangUp: true,
    expected: CLIENT_ERROR,
  },
  {
    name: 'a request within a body',
    parts: [buildPostWithLength(`${QUERY}\r\n\r\n${buildGet('/operator/parked')}`)],
    expected: INVALID_JSON,
  },
]

export const attacks: readonly Attack[] = [...methodAttacks, ...pathAttacks, ...headerAttacks, ...bodyAttacks]
