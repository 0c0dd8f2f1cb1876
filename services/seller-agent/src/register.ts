import { Fault } from '@penstock/kernel/result.ts'
import type { Clock, Ids } from '@penstock/ports/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { retryUntil } from '@penstock/runtime/retry.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import { z } from 'zod'
import { type ApiOptions, type MarketCall, openMarketApi } from './api.ts'
import type { Journal } from './journal.ts'
import { toOfferInput, type SellerTerms } from './terms.ts'

export type RegistrationOptions = Omit<ApiOptions, 'bearer'> & {
  /** The key of an existing account; left out: the agent creates an account of its own. */
  readonly apiKey?: string
  readonly lightning: Lightning
  readonly journal: Journal
  readonly terms: SellerTerms
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
}

export type Registration = { readonly pubkey: string; readonly apiKey: string; readonly offerId: string }

const CREATE_ACCOUNT = 'mutation AgentAccount($input: CreateAccountInput!) { account { create(input: $input) { token } } }'
const CREATE_KEY = 'mutation AgentKey($input: CreateApiKeyInput!) { account { create_api_key(input: $input) { key } } }'
const CHALLENGE = 'mutation AgentChallenge($pubkey: String!) { account { node { challenge(pubkey: $pubkey) } } }'
const CONNECT = 'mutation AgentConnect($input: ConnectNodeInput!) { account { node { connect(input: $input) { success } } } }'
const OFFERS = `query AgentOffers($page: PageInput, $filter: OfferFilterInput) { market { offer { offers(page: $page, filter: $filter) {
  list { id } } } } }`
const CREATE_OFFER = 'mutation AgentOffer($input: CreateOfferInput!) { market { offer { create(input: $input) { offer_id } } } }'
const UPDATE_OFFER =
  'mutation AgentNewTerms($input: UpdateOfferInput!) { market { offer { update(input: $input) { offer_id } } } }'

const answerSchemas = {
  token: z.object({ account: z.object({ create: z.object({ token: z.string() }) }) }),
  key: z.object({ account: z.object({ create_api_key: z.object({ key: z.string() }) }) }),
  challenge: z.object({ account: z.object({ node: z.object({ challenge: z.string() }) }) }),
  offers: z.object({
    market: z.object({ offer: z.object({ offers: z.object({ list: z.array(z.object({ id: z.string() })) }) }) }),
  }),
  created: z.object({ market: z.object({ offer: z.object({ create: z.object({ offer_id: z.string() }) }) }) }),
}

/**
 * Creates what is missing of the account, the API key, the node's proof and the offer. Each step is in the journal before the
 * next step begins, and may be repeated if its outcome is unknown.
 * Retries while the market or the node does not answer. @throws MarketRefusal for terms or a key that the market refuses
 */
export async function ensureRegistered(options: RegistrationOptions): Promise<Registration> {
  const { signal, journal } = options
  const withRetry = <T>(step: () => Promise<T>): Promise<T> => retryUntil(options, signal, step, createRetryCheck(options.log))
  const pubkey = (await withRetry(() => options.lightning.info())).pubkey
  const known = journal.getSetting('pubkey')
  if (known !== undefined && known !== pubkey) throw new Error(`this journal belongs to node ${known}, and the node is ${pubkey}`)
  journal.saveSetting('pubkey', pubkey)

  const apiKey = options.apiKey ?? journal.getSetting('api_key') ?? (await withRetry(() => makeApiKey(options, pubkey)))
  const call = openMarketApi({ ...options, bearer: apiKey })
  if (journal.getSetting('node') !== 'connected') await withRetry(() => connectNode(call, options, pubkey))
  const offerId = await withRetry(() => ensureOffer(call, options, pubkey))
  return { pubkey, apiKey, offerId }
}

// A market that starts together with its agents is not ready at once, so only a longer wait is logged.
const LOG_AT_TRIES = [5, 10, 20]

const createRetryCheck =
  (log: Logger) =>
  (error: unknown, tries: number): boolean => {
    if (LOG_AT_TRIES.includes(tries) || (tries > 0 && tries % 100 === 0))
      log.warn({ reason: String(error) }, 'registering at the market failed; retrying')
    return error instanceof Fault
  }

/** Creates an API key. If the answer is lost, the next try creates another key, and the first stays unused. */
async function makeApiKey(options: RegistrationOptions, pubkey: string): Promise<string> {
  const { journal } = options
  const token = journal.getSetting('account_token') ?? (await makeAccount(options, pubkey))
  const call = openMarketApi({ ...options, bearer: token })
  const { key } = (await call(CREATE_KEY, { input: { name: 'seller-agent' } }, answerSchemas.key)).account.create_api_key
  journal.saveSetting('api_key', key)
  return key
}

/** Creates an account, with a new email address for each try. If the answer is lost, the account stays unused. */
async function makeAccount(options: RegistrationOptions, pubkey: string): Promise<string> {
  const { journal, ids } = options
  const email = `node-${pubkey.slice(0, 16)}-${ids.uuid()}@seller-agent.invalid`
  const password = Buffer.from(ids.random(24)).toString('base64url')
  journal.saveSetting('email', email)
  journal.saveSetting('password', password)
  const { token } = (await openMarketApi(options)(CREATE_ACCOUNT, { input: { email, password } }, answerSchemas.token)).account
    .create
  journal.saveSetting('account_token', token)
  return token
}

async function connectNode(call: MarketCall, { lightning, journal }: RegistrationOptions, pubkey: string): Promise<void> {
  const { challenge } = (await call(CHALLENGE, { pubkey }, answerSchemas.challenge)).account.node
  const signature = await lightning.messages.sign(challenge)
  await call(CONNECT, { input: { pubkey, challenge, signature } }, z.unknown())
  journal.saveSetting('node', 'connected')
}

/** A node has one offer. After a crash during its creation, the agent first searches the order book for it. */
async function ensureOffer(call: MarketCall, { journal, terms }: RegistrationOptions, pubkey: string): Promise<string> {
  const wanted = JSON.stringify(toOfferInput(terms))
  const offerId = journal.getSetting('offer') ?? (journal.getSetting('offer_begun') ? await findOffer(call, pubkey) : undefined)
  if (offerId === undefined) {
    journal.saveSetting('offer_begun', 'yes')
    const created = (await call(CREATE_OFFER, { input: { pubkey, ...toOfferInput(terms) } }, answerSchemas.created)).market.offer
      .create.offer_id
    journal.saveSetting('offer', created)
    journal.saveSetting('offer_terms', wanted)
    return created
  }
  journal.saveSetting('offer', offerId)
  if (journal.getSetting('offer_terms') !== wanted) {
    await call(UPDATE_OFFER, { input: { offer_id: offerId, ...toOfferInput(terms) } }, z.unknown())
    journal.saveSetting('offer_terms', wanted)
  }
  return offerId
}

async function findOffer(call: MarketCall, pubkey: string): Promise<string | undefined> {
  const { list } = (await call(OFFERS, { page: { limit: 1, offset: 0 }, filter: { pubkey } }, answerSchemas.offers)).market.offer
    .offers
  return list[0]?.id
}
