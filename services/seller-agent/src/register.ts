import { Fault } from '@penstock/kernel/result.ts'
import type { Clock, Ids } from '@penstock/ports/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { persist } from '@penstock/runtime/backoff.ts'
import type { Log } from '@penstock/runtime/log.ts'
import { z } from 'zod'
import { type ApiOptions, type Call, openApi } from './api.ts'
import type { Journal } from './journal.ts'
import { offerInput, type SellerTerms } from './terms.ts'

export type RegistrationOptions = Omit<ApiOptions, 'bearer'> & {
  /** Of an account that is there already; left out: the agent makes one of its own. */
  readonly apiKey?: string
  readonly lightning: Lightning
  readonly journal: Journal
  readonly terms: SellerTerms
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
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

const answers = {
  token: z.object({ account: z.object({ create: z.object({ token: z.string() }) }) }),
  key: z.object({ account: z.object({ create_api_key: z.object({ key: z.string() }) }) }),
  challenge: z.object({ account: z.object({ node: z.object({ challenge: z.string() }) }) }),
  offers: z.object({
    market: z.object({ offer: z.object({ offers: z.object({ list: z.array(z.object({ id: z.string() })) }) }) }),
  }),
  created: z.object({ market: z.object({ offer: z.object({ create: z.object({ offer_id: z.string() }) }) }) }),
}

/**
 * Account, API key, proof of the node, offer: what is missing of it is made. Each step is in the journal before the next,
 * and each can be taken again where it is not known whether it was taken.
 * Waits for a market and a node that do not answer yet. @throws MarketRefusal for terms or a key that the market refuses
 */
export async function ensureRegistered(options: RegistrationOptions): Promise<Registration> {
  const { signal, clock, journal } = options
  const patiently = <T>(step: () => Promise<T>): Promise<T> => persist(clock, signal, step, worthwhile(options.log))
  const pubkey = (await patiently(() => options.lightning.info())).pubkey
  const known = journal.setting('pubkey')
  if (known !== undefined && known !== pubkey) throw new Error(`this journal belongs to node ${known}, and the node is ${pubkey}`)
  journal.set('pubkey', pubkey)

  const apiKey = options.apiKey ?? journal.setting('api_key') ?? (await patiently(() => makeApiKey(options, pubkey)))
  const call = openApi({ ...options, bearer: apiKey })
  if (journal.setting('node') !== 'connected') await patiently(() => connectNode(call, options, pubkey))
  const offerId = await patiently(() => ensureOffer(call, options, pubkey))
  return { pubkey, apiKey, offerId }
}

// A market that starts beside its agents needs a moment; whoever waits longer wants to know what for.
const SAID_AT = [5, 10, 20]

const worthwhile =
  (log: Log) =>
  (error: unknown, tries: number): boolean => {
    if (SAID_AT.includes(tries) || (tries > 0 && tries % 100 === 0))
      log.warn({ reason: String(error) }, 'the agent cannot register yet and goes on trying')
    return error instanceof Fault
  }

/** A key that was made and lost on the way here opens nothing to anybody: nobody ever kept it. */
async function makeApiKey(options: RegistrationOptions, pubkey: string): Promise<string> {
  const { journal } = options
  const token = journal.setting('account_token') ?? (await makeAccount(options, pubkey))
  const call = openApi({ ...options, bearer: token })
  const { key } = (await call(CREATE_KEY, { input: { name: 'seller-agent' } }, answers.key)).account.create_api_key
  journal.set('api_key', key)
  return key
}

/** With a fresh address each time: an account whose answer was lost has nothing in it, and stays unused. */
async function makeAccount(options: RegistrationOptions, pubkey: string): Promise<string> {
  const { journal, ids } = options
  const email = `node-${pubkey.slice(0, 16)}-${ids.uuid()}@seller-agent.invalid`
  const password = Buffer.from(ids.random(24)).toString('base64url')
  journal.set('email', email)
  journal.set('password', password)
  const { token } = (await openApi(options)(CREATE_ACCOUNT, { input: { email, password } }, answers.token)).account.create
  journal.set('account_token', token)
  return token
}

async function connectNode(call: Call, { lightning, journal }: RegistrationOptions, pubkey: string): Promise<void> {
  const { challenge } = (await call(CHALLENGE, { pubkey }, answers.challenge)).account.node
  const signature = await lightning.messages.sign(challenge)
  await call(CONNECT, { input: { pubkey, challenge, signature } }, z.unknown())
  journal.set('node', 'connected')
}

/** One offer a node. After a crash while it was being made, it is looked for in the book first. */
async function ensureOffer(call: Call, { journal, terms }: RegistrationOptions, pubkey: string): Promise<string> {
  const wanted = JSON.stringify(offerInput(terms))
  const offerId = journal.setting('offer') ?? (journal.setting('offer_begun') ? await findOffer(call, pubkey) : undefined)
  if (offerId === undefined) {
    journal.set('offer_begun', 'yes')
    const created = (await call(CREATE_OFFER, { input: { pubkey, ...offerInput(terms) } }, answers.created)).market.offer.create
      .offer_id
    journal.set('offer', created)
    journal.set('offer_terms', wanted)
    return created
  }
  journal.set('offer', offerId)
  if (journal.setting('offer_terms') !== wanted) {
    await call(UPDATE_OFFER, { input: { offer_id: offerId, ...offerInput(terms) } }, z.unknown())
    journal.set('offer_terms', wanted)
  }
  return offerId
}

async function findOffer(call: Call, pubkey: string): Promise<string | undefined> {
  const { list } = (await call(OFFERS, { page: { limit: 1, offset: 0 }, filter: { pubkey } }, answers.offers)).market.offer.offers
  return list[0]?.id
}
