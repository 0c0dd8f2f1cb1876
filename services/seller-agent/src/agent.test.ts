import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSimnet, type Simnet } from '@penstock/adapters/simnet/simnet.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { formatFundsAttestation } from '@penstock/bitcoin/attestation.ts'
import { recoverPubkey } from '@penstock/bitcoin/message-signature.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { createSkippableClock } from '@penstock/testkit/skippable-clock.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentOptions, runSellerAgent } from './agent.ts'
import { type Journal, openJournal } from './journal.ts'
import { ensureRegistered } from './register.ts'
import { sellerTerms } from './agent.fixture.ts'

type Input = Readonly<Record<string, unknown>>
type Attested = { readonly pubkey: string; readonly confirmed_sats: string; readonly at: string; readonly signature: string }
type KnownInput = Attested & { readonly email: string; readonly offer_id: string }

/** A call to a silent node fails after this time of the network's clock. */
const NO_ANSWER_MS = 500

let dir: string
let networkClock: ReturnType<typeof createSkippableClock>
let simnet: Simnet
let server: Server
let url: string
let market: ReturnType<typeof emptyMarket>
/** The connection breaks at the call with this number, before or after the fake market has handled the call. */
let droppedCall: { call: number; when: 'before' | 'after' } | undefined
let agents: { readonly end: AbortController; readonly done: Promise<void>; readonly journal: Journal }[]

const emptyMarket = () => ({
  calls: [] as string[],
  tokens: new Map<string, string>(),
  nodes: new Map<string, string>(),
  challenges: new Map<string, string>(),
  offers: new Map<string, Input>(),
  attested: [] as Attested[],
  sales: [] as object[],
  named: [] as Input[],
  cancelled: [] as Input[],
})

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'penstock-agent-'))
  networkClock = createSkippableClock()
  simnet = openSimnet({ path: join(dir, 'simnet.db'), blockSeconds: 0, clock: networkClock })
  market = emptyMarket()
  droppedCall = undefined
  agents = []
  server = createServer((request, response) => {
    let text = ''
    request.on('data', (part: Buffer) => void (text += part.toString()))
    request.on('end', () => {
      const number = market.calls.length + 1
      const { query, variables } = JSON.parse(text) as { query: string; variables: Input }
      const name = /Agent\w+/.exec(query)?.[0] ?? ''
      market.calls.push(name)
      if (droppedCall?.call === number && droppedCall.when === 'before') return void request.socket.destroy()
      const answer = carryOut(name, variables, request.headers.authorization ?? '')
      if (droppedCall?.call === number) return void request.socket.destroy()
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
})
afterEach(async () => {
  for (const agent of agents) await stop(agent)
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await simnet.close()
  rmSync(dir, { recursive: true })
})

const refusal = (message: string, code = 'GRAPHQL_VALIDATION_FAILED') => ({
  data: null,
  errors: [{ message, extensions: { code } }],
})
const at = (path: string, value: unknown): object =>
  path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object
const ok = (path: string, value: unknown = { success: true }) => ({ data: at(path, value) })

/** A fake market that has one account per token and one account per node, like the real market. */
function carryOut(name: string, variables: Input, authorization: string): object {
  const input = (variables['input'] ?? {}) as Input & KnownInput
  const account = market.tokens.get(authorization.replace('Bearer ', ''))
  if (name === 'AgentAccount') {
    const token = `token-${market.tokens.size}`
    market.tokens.set(token, input.email)
    return ok('account.create', { token })
  }
  if (account === undefined) return refusal('Unauthorized token', 'UNAUTHENTICATED')
  switch (name) {
    case 'AgentKey': {
      const key = `key-${market.tokens.size}`
      market.tokens.set(key, account)
      return ok('account.create_api_key', { key })
    }
    case 'AgentChallenge':
      market.challenges.set(account, `a challenge for ${account}`)
      return ok('account.node.challenge', market.challenges.get(account))
    case 'AgentConnect':
      if (recoverPubkey(market.challenges.get(account) ?? '', input.signature) !== input.pubkey)
        return refusal('The signature is not the node’s')
      if ((market.nodes.get(input.pubkey) ?? account) !== account) return refusal('This node is connected to another account.')
      market.nodes.set(input.pubkey, account)
      return ok('account.node.connect')
    case 'AgentOffers':
      return ok('market.offer.offers', { list: [...market.offers.keys()].map((id) => ({ id })) })
    case 'AgentOffer':
      if (market.nodes.get(input.pubkey) !== account) return refusal('Prove this node first')
      market.offers.set(`offer-${market.offers.size}`, input)
      return ok('market.offer.create', { offer_id: `offer-${market.offers.size - 1}` })
    case 'AgentNewTerms':
      market.offers.set(input.offer_id, input)
      return ok('market.offer.update')
    case 'AgentAttest':
      market.attested.push(input)
      return ok('market.offer.attest')
    case 'AgentSales':
      return ok('user.market.orders.sales', { total: market.sales.length, list: market.sales })
    case 'AgentAccept':
      return ok('market.order.seller.accept')
    case 'AgentName':
      market.named.push(input)
      market.sales = []
      return ok('market.order.seller.add_transaction')
    case 'AgentCancel':
      market.cancelled.push(input)
      return ok('market.order.cancel')
    case 'AgentOrder':
      return ok('user.market.orders.get_order', { status: 'SELLER_SENT_TRANSACTION' })
    default:
      return refusal(`no such operation ${name}`)
  }
}

function options(journal: Journal, signal: AbortSignal): AgentOptions {
  const lightning = simnet.lightning('seller-ada')
  return {
    url,
    lightning,
    journal,
    terms: sellerTerms,
    clock: systemClock,
    ids: systemIds(),
    log: openLogger('silent'),
    signal,
    timings: { pollMs: 5, fundsMs: 5, attestMs: 50 },
  }
}

function start(change: Partial<AgentOptions> = {}) {
  const journal = openJournal(join(dir, 'agent.db'))
  const end = new AbortController()
  const agent = { end, journal, done: runSellerAgent({ ...options(journal, end.signal), ...change }) }
  agents.push(agent)
  return agent
}

async function stop({ end, done, journal }: (typeof agents)[number]): Promise<void> {
  if (end.signal.aborted) return
  end.abort()
  await done
  journal.close()
}

test('the first start creates account, key, node proof and offer, and the second start reuses them', async () => {
  const first = start()
  await waitUntil('it attests', () => market.attested.length > 0)
  await stop(first)
  const registered = market.calls.filter((name) => !['AgentAttest', 'AgentSales'].includes(name))
  expect(registered).toEqual(['AgentAccount', 'AgentKey', 'AgentChallenge', 'AgentConnect', 'AgentOffer'])
  expect([...market.offers.values()]).toEqual([
    expect.objectContaining({ total_size: '100000000', min_size: '100000', fee_rate: 2000, base_fee: '500', auto_accept: true }),
  ])
  expect(statSync(join(dir, 'agent.db')).mode & 0o777).toBe(0o600)
  market.calls = []
  await stop(start())
  const second = start()
  await waitUntil('it attests again', () => ['AgentAttest', 'AgentSales'].every((name) => market.calls.includes(name)))
  expect(new Set(market.calls)).toEqual(new Set(['AgentAttest', 'AgentSales']))
  await stop(second)
})

test('new terms update the existing offer', async () => {
  await stop(start({ terms: sellerTerms }))
  const first = start()
  await waitUntil('it attests', () => market.attested.length > 0)
  await stop(first)
  start({ terms: { ...sellerTerms, feeRatePpm: 1500 } })
  await waitUntil('the new price', () => market.offers.get('offer-0')?.['fee_rate'] === 1500)
  expect(market.offers.size).toBe(1)
})

test.each(['before', 'after'] as const)('a connection that breaks %s any call leaves one node and one offer', async (when) => {
  for (let call = 1; call <= 6; call++) {
    market = emptyMarket()
    droppedCall = { call, when }
    const journal = openJournal(join(dir, `agent-${when}-${call}.db`))
    const { pubkey, offerId, apiKey } = await ensureRegistered(options(journal, new AbortController().signal))
    journal.close()
    expect([...market.nodes.keys()]).toEqual([pubkey])
    expect([...market.offers.keys()]).toEqual([offerId])
    expect(market.tokens.get(apiKey)).toBe(market.nodes.get(pubkey))
  }
})

test('an API key of an existing account is used, and no account is created', async () => {
  market.tokens.set('mine', 'me')
  start({ apiKey: 'mine' })
  await waitUntil('it attests', () => market.attested.length > 0)
  expect([...market.nodes.values()]).toEqual(['me'])
  expect(market.calls).not.toContain('AgentAccount')
})

test('the registration with an invalid API key is retried', async () => {
  start({ apiKey: 'wrong' })
  await waitUntil('it was tried again', () => market.calls.filter((name) => name === 'AgentChallenge').length > 1)
  expect(market.offers.size).toBe(0)
})

test("an agent refuses another node's journal", async () => {
  await stop(start())
  const journal = openJournal(join(dir, 'agent.db'))
  journal.saveSetting('pubkey', `02${'00'.repeat(32)}`)
  await expect(ensureRegistered(options(journal, new AbortController().signal))).rejects.toThrow(/belongs to node/)
  journal.close()
})

test('funds are attested with the signature of the node, at once after a change, and not while the node is silent', async () => {
  const node = simnet.lightning('seller-ada')
  let readCount = 0
  start({ lightning: { ...node, wallet: { ...node.wallet, confirmedSat: () => (readCount++, node.wallet.confirmedSat()) } } })
  const first = await waitUntil('an attestation', () => market.attested[0])
  const text = formatFundsAttestation({ pubkey: first.pubkey, confirmedSats: BigInt(first.confirmed_sats), at: Number(first.at) })
  expect(recoverPubkey(text, first.signature)).toBe(first.pubkey)
  const buyer = simnet.control.nodes().find(({ role }) => role === 'buyer')
  simnet.control.open('seller-ada', buyer?.pubkey ?? '', 1_000_000n)
  await waitUntil('less is attested', () => BigInt(market.attested.at(-1)?.confirmed_sats ?? 0) < BigInt(first.confirmed_sats))
  simnet.control.behave('seller-ada', 'silent')
  const answered = readCount
  // The agent reads its funds again only after it has sent the attestation of the previous answer.
  await waitUntil('the funds are read from the silent node', () => readCount > answered)
  const before = market.attested.length
  await waitUntil('two reads had no answer', () => (networkClock.skip(NO_ANSWER_MS), readCount > answered + 2))
  expect(market.attested).toHaveLength(before)
  simnet.control.behave('seller-ada', 'ok')
  await waitUntil('it attests again', () => (networkClock.skip(NO_ANSWER_MS), market.attested.length > before))
})

test('the agent submits its invoice before the outpoint and the attestation of its channel', async () => {
  const buyer = simnet.control.nodes().find(({ role }) => role === 'buyer')
  const [pubkey = '', socket = ''] = buyer?.uri.split('@') ?? []
  const sale = { id: 'an-order', status: 'WAITING_FOR_CHANNEL_OPEN', size: '1000000', fees: { seller: { sats: '2500' } } }
  market.sales = [{ ...sale, destination: { pubkey, sockets: [socket] }, options: { private: true } }]
  start()
  await waitUntil('the channel is there', () => simnet.control.channels('seller-ada').some((channel) => channel.private))
  expect(market.calls.indexOf('AgentAccept')).toBeLessThan(market.calls.indexOf('AgentName'))
  const [named] = market.named
  expect(named).toMatchObject({
    order_id: 'an-order',
    transaction: simnet.control.channels(buyer?.alias ?? '').find((channel) => channel.private)?.outpoint,
    attestation: { capacity: '1000000', push_sats: '0', reserve_sats: '10000' },
  })
})

test("the agent cancels an order as UNABLE_TO_CONNECT_TO_NODE if the buyer's node is unreachable", async () => {
  const pubkey = `02${'11'.repeat(32)}`
  const sale = { id: 'an-order', status: 'WAITING_FOR_CHANNEL_OPEN', size: '1000000', fees: { seller: { sats: '2500' } } }
  market.sales = [{ ...sale, destination: { pubkey, sockets: ['127.0.0.1:1'] }, options: { private: false } }]
  start({ timings: { pollMs: 5, fundsMs: 5, attestMs: 50, firstRetryMs: 1, longestRetryMs: 2, maxUnreachable: 2 } })
  await waitUntil('it was reported', () => market.cancelled.length > 0)
  expect(market.cancelled).toEqual([{ order_id: 'an-order', cancellation_reason: 'UNABLE_TO_CONNECT_TO_NODE' }])
})
