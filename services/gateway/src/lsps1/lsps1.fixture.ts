import { readConfig } from '@penstock/config/config.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import { createOrderTerms } from '@penstock/testkit/order-terms.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import assert from 'node:assert/strict'
import { afterEach, beforeEach } from 'vitest'
import { answerWithOrders } from '../market/fake-market.fixture.ts'
import type { QuoteRequest } from '../market/purchase/place-order.ts'
import { type GatewayHarness, openGatewayHarness, NOW } from '../gateway-harness.fixture.ts'
import { createLspOpenApi } from './openapi.ts'
import { createLsps1Mount } from './routes.ts'
import type { CreateOrderBody, LspInfo, LspOrder } from './schemas.ts'

export const BUYER_PUBKEY = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'
export const makeNodePubkey = (digit: number) => derivePubkey(new Uint8Array(32).fill(digit))
export const makeUuid = (digit: number) => `10000000-0000-4000-8000-00000000000${digit}`
export const sampleOfferTerms = {
  totalSizeSat: '9000000',
  minSizeSat: '100000',
  maxSizeSat: '2000000',
  promises: { ...createOrderTerms().candidate.promises, minBlockLength: 13_140 },
  conditions: [],
  assetId: null,
  autoAccept: true,
}

/** The harness of the running test. */
export let lspHarness: GatewayHarness
export let nodeSockets: Map<string, string[]>
const nodeSources = {
  peers: { addresses: async (pubkey: string) => ({ alias: '', sockets: nodeSockets.get(pubkey) ?? [] }) },
  chain: { feeRate: async () => 5 },
}
const openLspHarness = (env: Record<string, string> = {}, ready?: () => string | undefined) =>
  openGatewayHarness({
    env: { PENSTOCK_BUY_PER_MINUTE: '0', PENSTOCK_ORDERS_PER_IP: '0', PENSTOCK_ORDERS_PER_DESTINATION: '0', ...env },
    mounts: [createLsps1Mount(nodeSources)],
    ...(ready && { ready }),
  })

/** Adds a live seller. By default, seller 1 is the most expensive. */
export const addSeller = async (digit: number, feeRatePpm = 3000 - digit * 100, changes: object = {}) => {
  await lspHarness.projectFacts('offer', makeUuid(digit), [
    {
      type: 'OfferCreated',
      data: {
        ...sampleOfferTerms,
        promises: { ...sampleOfferTerms.promises, feeRatePpm },
        accountId: makeUuid(digit),
        pubkey: makeNodePubkey(digit),
        ...changes,
      },
    },
  ])
  await lspHarness.projectFacts('seller', makeNodePubkey(digit), [
    { type: 'SellerAppeared', data: { accountId: makeUuid(digit), confirmedSat: '50000000', at: NOW } },
  ])
}
export const makeValidOutcome = (digit: number) => ({
  type: 'OutcomeRecorded',
  data: { orderId: makeUuid(digit), attempt: 1, outcome: 'valid', at: NOW },
})

/** Opens a market for each test of a file. */
export function useLspHarness(): void {
  beforeEach(async () => {
    nodeSockets = new Map([1, 2, 3, 4].map((digit) => [makeNodePubkey(digit), [`10.0.0.${digit}:9735`]]))
    await reopenLspHarness()
  })
  afterEach(() => lspHarness.close())
}

export async function reopenLspHarness(env: Record<string, string> = {}, ready?: () => string | undefined): Promise<void> {
  lspHarness = await openLspHarness(env, ready)
  lspHarness.respondWith(answerWithOrders(lspHarness))
}

const ajv = new Ajv2020({ strict: false, validateFormats: false })
const document = createLspOpenApi(readConfig({}))
ajv.addSchema(document, 'api')
/** Checks an answer against the published OpenAPI document. */
export function assertConforms(name: string, body: unknown): void {
  const validate = ajv.getSchema(`api#/components/schemas/${name}`) ?? assert.fail(name)
  assert.ok(validate(body), JSON.stringify([validate.errors, body]))
}

/** Checks that the document lists the status for this operation. It describes each path once, without the alias for wallets. */
function assertDocumented(path: string, method: string, status: number): void {
  const [, name = ''] = /^[^/]+(?:\/api\/v1)?\/(\w+)(?:\?|$)/.exec(path) ?? []
  const operations: Readonly<Record<string, { readonly responses: object } | undefined>> =
    Object.entries(document.paths).find(([template]) => template === `/{type}/${name}`)?.[1] ?? {}
  const operation = operations[method.toLowerCase()]
  if (operation) assert.ok(status in operation.responses, `${method} ${path}: the document has no status ${status}`)
}

export type LspResponse<T> = { readonly status: number; readonly headers: Headers; readonly body: T }
export async function callLsp<T>(
  path: string,
  name: string,
  init: { readonly method?: string; readonly body?: string } = {},
): Promise<LspResponse<T>> {
  const response = await fetch(`${lspHarness.base}/api/lsp/v1/${path}`, {
    ...init,
    headers: { 'content-type': 'application/json' },
  })
  const body = (await response.json()) as T // `assertConforms` checks it
  assertDocumented(path, init.method ?? 'GET', response.status)
  assertConforms(response.ok ? name : 'LspError', body)
  return { status: response.status, headers: response.headers, body }
}
export const fetchInfo = (type = 'cheapest') => callLsp<LspInfo>(`${type}/get_info`, 'LspInfo')
export const postOrder = <T = LspOrder>(body: object, type = 'cheapest') =>
  callLsp<T>(`${type}/create_order`, 'LspOrder', { method: 'POST', body: JSON.stringify(body) })
export const fetchOrder = <T = LspOrder>(id: string, type = 'cheapest') =>
  callLsp<T>(`${type}/get_order?order_id=${id}`, 'LspOrder')

export const makeOrderBody = (changes: Partial<CreateOrderBody> & object = {}) => ({
  lsp_balance_sat: '500000',
  client_balance_sat: '0',
  required_channel_confirmations: 1,
  funding_confirms_within_blocks: 6,
  channel_expiry_blocks: 13_140,
  token: '',
  announce_channel: true,
  public_key: BUYER_PUBKEY,
  ...changes,
})
export const listQuoteRequests = (): readonly QuoteRequest[] =>
  lspHarness.sent.filter(({ ask }) => ask.command.type === 'RequestQuote').map(({ ask }) => ask.command.data as QuoteRequest)
