import { emailClaim } from '@penstock/contracts/accounts.ts'
import { seller as sellerContract } from '@penstock/contracts/matching.ts'
import { hashCredential, hashEmail, newCredential } from '@penstock/runtime/credentials.ts'
import { ask } from '@penstock/runtime/service.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import type { Ids } from '@penstock/ports/clock.ts'
import { offerInput, type SellerTerms } from '@penstock/seller-agent/terms.ts'
import { buy } from './buyers.ts'
import type { Ledger } from './checks.ts'
import type { Cradle } from './processes.ts'
import { command, doByHand, type Hands, rejectAll } from './deeds.ts'
import { patiently } from './market.ts'
import type { Performance } from './perform.ts'
import { REPLICAS } from './plan.ts'
import { termsOf } from './sellers.ts'
import type { Bought, Trader } from './stage.ts'
import { clearSky, happen } from './weather.ts'
import type { World } from './world.ts'

const PRICE = '{ market { liquidity { liquidity_per_usd { sats } } } }'
const OPENING_MS = 60_000

/** Everything that people and the sky do, from the first start of the processes to the moment when the faults stop. */
export async function tell(world: World, cradle: Cradle, ledger: Ledger, performance: Performance): Promise<void> {
  const { engine, plan, market, simnet, diary, reached } = world
  const { clock, random } = engine.schedule
  engine.faults.off()
  for (const name of REPLICAS) cradle.replica(name)
  const people = random.fork('people')
  const ids = systemIds(
    () => clock.now(),
    (count) => people.bytes(count),
  )
  const opening = clock.now() + OPENING_MS
  const buyerKey = await patiently(clock, opening, () => openAccount(world, ids, 'buyer@people.invalid'))
  const sellers = new Map<string, { key: string; pubkey: string }>()
  for (const [index, seller] of plan.sellers.entries()) {
    const { alias } = seller
    const key = await openAccount(world, ids, `${alias}@people.invalid`)
    const pubkey = simnet.control.nodes().find((node) => node.alias === alias)?.pubkey ?? ''
    sellers.set(alias, { key, pubkey })
    const by = { by: 'operator', reason: 'One of the first sellers.' }
    if (index < 2) await command(market, ask(sellerContract, pubkey, 'GrantRails', by))
    if (seller.answers === 'accepts' || seller.standing) cradle.agent(alias, termsOf(index, seller), key)
    else await offerByHand(world, { key, pubkey, alias }, termsOf(index, seller))
  }
  await until(world, opening, () => market.graphql(PRICE, {}))
  diary.note('the market is open')

  engine.faults.on()
  const untilMs = clock.now() + plan.busyMs
  const note = (text: string): void => diary.note(text)
  const blundered = (error: unknown): void => void world.blunders.push(error)
  const hands: Hands = { clock, market, draws: random.fork('hands'), untilMs, sellers, note, reached, blundered }
  const bought = new Map<string, Bought>()
  performance.begin({ world, cradle, ledger, draws: random.fork('strokes'), sellers, bought, invoices: new Map() })
  const sky = { simnet, clock, draws: random.fork('sky'), note, reached, paidFor: () => fundingsPaidFor(ledger) }
  await Promise.all([
    ...plan.purchases.map((purchase) =>
      buy({ clock, market, control: simnet.control, untilMs, bought, reached, blundered }, purchase, buyerKey, note),
    ),
    ...plan.weather.map((weather) => happen(sky, weather)),
    ...plan.deeds.map((deed) => doByHand(hands, deed)),
    ...plan.sellers.map(({ alias, standing, answers }) => (standing ? undefined : rejectAll(hands, alias, answers))),
    ...plan.deaths.map(async ({ process, atMs, awayMs }) => {
      await clock.sleep(atMs)
      cradle.kill(process, awayMs)
    }),
    clock.sleep(plan.busyMs),
  ])
  engine.faults.off()
  clearSky(simnet)
  note('the faults have stopped')
}

const CHALLENGE = 'mutation ($pubkey: String!) { account { node { challenge(pubkey: $pubkey) } } }'
const CONNECT = 'mutation ($input: ConnectNodeInput!) { account { node { connect(input: $input) { success } } } }'
const OFFER = 'mutation ($input: CreateOfferInput!) { market { offer { create(input: $input) { offer_id } } } }'

/** An offer without an agent: whoever made it answers by hand, or not at all. */
async function offerByHand(
  { market, simnet }: World,
  { key, pubkey, alias }: Trader & { readonly alias: string },
  terms: SellerTerms,
): Promise<void> {
  type Challenge = { account: { node: { challenge: string } } }
  const { challenge } = (await market.graphql<Challenge>(CHALLENGE, { pubkey }, key)).account.node
  const { signature } = simnet.control.sign(alias, challenge)
  await market.graphql(CONNECT, { input: { pubkey, challenge, signature } }, key)
  await market.graphql(OFFER, { input: { pubkey, ...offerInput(terms) } }, key)
}

async function until(world: World, untilMs: number, look: () => Promise<unknown>): Promise<void> {
  const { clock } = world.engine.schedule
  for (;;)
    try {
      return void (await look())
    } catch (error) {
      if (clock.now() > untilMs) throw error
      await clock.sleep(200)
    }
}

/** An account with its dashboard token, past the form with the password, whose hash takes a real thread. */
export async function openAccount({ market, pepper, engine }: World, ids: Ids, email: string): Promise<string> {
  const { clock } = engine.schedule
  const token = newCredential('pdt_', ids)
  const accountId = ids.uuid()
  const claim = {
    accountId,
    emailRecord: ids.uuid(),
    passwordRecord: ids.uuid(),
    tokenHash: hashCredential(pepper, token),
    tokenExpiresAt: clock.now() + 86_400_000,
  }
  await command(market, ask(emailClaim, hashEmail(pepper, email), 'ClaimEmail', claim))
  await until({ engine } as World, clock.now() + OPENING_MS, () => market.graphql('{ account { me { id } } }', {}, token))
  return token
}

const fundingsPaidFor = ({ events }: Ledger): ReadonlySet<string> =>
  new Set(
    events.flatMap(({ category, fact }) => {
      if (category !== 'settlement' || fact.type !== 'SettleRequested') return []
      const { proof } = fact.data as { readonly proof: { readonly outpoint: string } } // of its contract
      return [proof.outpoint.split(':')[0] ?? '']
    }),
  )
