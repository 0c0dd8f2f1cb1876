import { gzipSync } from 'node:zlib'
import { type Attack, chunk, CUT_SHORT, says } from './attacks.ts'

/** What it takes to be heard in this very market. */
export type Known = { readonly operatorToken: string; readonly buyerPubkey: string }

/** A route that changes something, and a request that it would carry out. */
type Door = {
  readonly name: string
  readonly path: string
  readonly header: (known: Known) => string
  readonly body: (known: Known) => object
  /** What it says where the body is no JSON. */
  readonly noJson: RegExp
}

// Nobody's node: the curve's generator. A grant for it leaves a fact, whoever else has one.
const PUBKEY = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'
const SENTENCE = 'The body is not valid JSON\\.'

/** What a wallet sends that orders a channel to this node. */
export const lspOrderFor = (pubkey: string): object => ({
  lsp_balance_sat: '1000000',
  client_balance_sat: '0',
  required_channel_confirmations: 3,
  funding_confirms_within_blocks: 6,
  channel_expiry_blocks: 4320,
  token: '',
  announce_channel: true,
  public_key: pubkey,
})

const doors: readonly Door[] = [
  {
    name: 'create_order',
    path: '/api/lsp/v1/cheapest/create_order',
    header: () => '',
    body: ({ buyerPubkey }) => lspOrderFor(buyerPubkey),
    noJson: says(400, `\\{"statusCode":400,"message":"${SENTENCE}","error":\\{"code":-32602,[^]*\\}\\}`),
  },
  {
    name: "an operator's grant",
    path: '/operator/sellers/grant',
    header: ({ operatorToken }) => `authorization: Bearer ${operatorToken}\r\n`,
    body: () => ({ pubkey: PUBKEY, reason: 'known for long' }),
    noJson: says(400, `\\{"error":"${SENTENCE}"\\}`),
  },
]

type Cut = Pick<Attack, 'parts' | 'hangUp' | 'wants'>

/** Everything of a request but the end of its body. Whole it is carried out; like this it must not be. */
const cutsOf: Readonly<Record<string, (text: string, noJson: RegExp) => Cut>> = {
  'JSON without its end': (text, wants) => sized(text.slice(0, -1), wants),
  'half of the JSON': (text, wants) => sized(text.slice(0, text.length / 2), wants),
  'gzip without its end': (text, wants) => sized(gzipSync(text).subarray(0, -9), wants, 'content-encoding: gzip\r\n'),
  'one byte short of its length': (text) => gone(`content-length: ${text.length + 1}`, text),
  'cut in the body': (text) => gone(`content-length: ${text.length}`, text.slice(0, text.length / 2)),
  'cut in gzip': (text) =>
    gone(`content-encoding: gzip\r\ncontent-length: ${gzipSync(text).length}`, gzipSync(text).subarray(0, -9)),
  'chunks without end': (text) => gone('transfer-encoding: chunked', chunk(text)),
  'cut in a chunk': (text) => gone('transfer-encoding: chunked', chunk(text).slice(0, -5)),
}

const sized = (body: string | Buffer, wants: RegExp, header = ''): Cut => ({
  parts: [`${header}content-length: ${body.length}\r\nconnection: close\r\n\r\n`, body],
  wants,
})
const gone = (header: string, body: string | Buffer): Cut => ({
  parts: [`${header}\r\nconnection: close\r\n\r\n`, body],
  hangUp: true,
  wants: CUT_SHORT,
})

const on = ({ path, header, body }: Door, known: Known, cut: (text: string) => Cut): Cut => {
  const { parts, ...rest } = cut(JSON.stringify(body(known)))
  return { ...rest, parts: [`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${header(known)}`, ...parts] }
}

/** By name: two requests that would change something, each with its end cut off in every way. */
export const cuts: readonly { readonly name: string; readonly make: (known: Known) => Cut }[] = doors.flatMap((door) =>
  Object.entries(cutsOf).map(([how, cut]) => ({
    name: `${door.name}: ${how}`,
    make: (known) => on(door, known, (text) => cut(text, door.noJson)),
  })),
)

/** The same requests to their end. */
export const wholes: typeof cuts = doors.map((door) => ({
  name: door.name,
  make: (known) => on(door, known, (text) => sized(text, /^HTTP\/1\.1 200 /)),
}))
