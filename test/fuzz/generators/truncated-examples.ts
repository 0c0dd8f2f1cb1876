import { gzipSync } from 'node:zlib'
import { type Attack, encodeChunk, ABORTED, matchResponse } from './attacks.ts'

/** Keys that the running market accepts. */
export type MarketKeys = { readonly operatorToken: string; readonly buyerPubkey: string }

/** A route that changes state, and a valid request to it. */
type ChangingRoute = {
  readonly name: string
  readonly path: string
  readonly header: (keys: MarketKeys) => string
  readonly body: (keys: MarketKeys) => object
  /** The expected answer to a body that is not JSON. */
  readonly noJsonResponse: RegExp
}

// The generator point of the curve, which is no node's key. A grant for this key always causes a fact.
const PUBKEY = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'
const NO_JSON_MESSAGE = 'The body is not valid JSON\\.'

/** The LSPS1 order that a wallet sends for a channel to this node. */
export const buildLspOrder = (pubkey: string): object => ({
  lsp_balance_sat: '1000000',
  client_balance_sat: '0',
  required_channel_confirmations: 3,
  funding_confirms_within_blocks: 6,
  channel_expiry_blocks: 4320,
  token: '',
  announce_channel: true,
  public_key: pubkey,
})

const changingRoutes: readonly ChangingRoute[] = [
  {
    name: 'create_order',
    path: '/api/lsp/v1/cheapest/create_order',
    header: () => '',
    body: ({ buyerPubkey }) => buildLspOrder(buyerPubkey),
    noJsonResponse: matchResponse(400, `\\{"statusCode":400,"message":"${NO_JSON_MESSAGE}","error":\\{"code":-32602,[^]*\\}\\}`),
  },
  {
    name: "an operator's grant",
    path: '/operator/sellers/grant',
    header: ({ operatorToken }) => `authorization: Bearer ${operatorToken}\r\n`,
    body: () => ({ pubkey: PUBKEY, reason: 'known for long' }),
    noJsonResponse: matchResponse(400, `\\{"error":"${NO_JSON_MESSAGE}"\\}`),
  },
]

type TruncatedRequest = Pick<Attack, 'parts' | 'hangUp' | 'expected'>

/** Requests without the end of their bodies. A complete request is carried out; a truncated request must not be. */
const truncationsByName: Readonly<Record<string, (text: string, noJsonResponse: RegExp) => TruncatedRequest>> = {
  'JSON without its end': (text, expected) => buildComplete(text.slice(0, -1), expected),
  'half of the JSON': (text, expected) => buildComplete(text.slice(0, text.length / 2), expected),
  'gzip without its end': (text, expected) =>
    buildComplete(gzipSync(text).subarray(0, -9), expected, 'content-encoding: gzip\r\n'),
  'one byte short of its length': (text) => buildHungUp(`content-length: ${text.length + 1}`, text),
  'cut in the body': (text) => buildHungUp(`content-length: ${text.length}`, text.slice(0, text.length / 2)),
  'cut in gzip': (text) =>
    buildHungUp(`content-encoding: gzip\r\ncontent-length: ${gzipSync(text).length}`, gzipSync(text).subarray(0, -9)),
  'chunks without end': (text) => buildHungUp('transfer-encoding: chunked', encodeChunk(text)),
  'cut in a chunk': (text) => buildHungUp('transfer-encoding: chunked', encodeChunk(text).slice(0, -5)),
}

const buildComplete = (body: string | Buffer, expected: RegExp, header = ''): TruncatedRequest => ({
  parts: [`${header}content-length: ${body.length}\r\nconnection: close\r\n\r\n`, body],
  expected,
})
const buildHungUp = (header: string, body: string | Buffer): TruncatedRequest => ({
  parts: [`${header}\r\nconnection: close\r\n\r\n`, body],
  hangUp: true,
  expected: ABORTED,
})

const addressTo = (
  { path, header, body }: ChangingRoute,
  keys: MarketKeys,
  truncate: (text: string) => TruncatedRequest,
): TruncatedRequest => {
  const { parts, ...rest } = truncate(JSON.stringify(body(keys)))
  return { ...rest, parts: [`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${header(keys)}`, ...parts] }
}

/** Two requests that would change state, each truncated in every way. */
export const truncatedExamples: readonly { readonly name: string; readonly make: (keys: MarketKeys) => TruncatedRequest }[] =
  changingRoutes.flatMap((route) =>
    Object.entries(truncationsByName).map(([kind, truncate]) => ({
      name: `${route.name}: ${kind}`,
      make: (keys) => addressTo(route, keys, (text) => truncate(text, route.noJsonResponse)),
    })),
  )

/** The same requests, complete. */
export const completeExamples: typeof truncatedExamples = changingRoutes.map((route) => ({
  name: route.name,
  make: (keys) => addressTo(route, keys, (text) => buildComplete(text, /^HTTP\/1\.1 200 /)),
}))
