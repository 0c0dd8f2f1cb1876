import { attestationText } from '@penstock/bitcoin/attestation.ts'
import { offer as offerContract, seller as sellerContract } from '@penstock/contracts/matching.ts'
import { order as orderContract } from '@penstock/contracts/order.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { ask } from '@penstock/runtime/service.ts'
import type { StrokeName } from './cues.ts'
import { command } from './deeds.ts'
import { Idle, Refused } from './market.ts'
import { sellerOf, type Stage, type Subject } from './stage.ts'

export type Doing = (stage: Stage, subject: Subject, much: number) => Promise<void>

const CANCEL = 'mutation ($input: CancelOrderInput!) { market { order { cancel(input: $input) { success } } } }'
const REJECT = 'mutation ($input: SellerRejectOrdersInput!) { market { order { seller { reject(input: $input) { success } } } } }'
const ACCEPT = 'mutation ($input: SellerAcceptOrdersInput!) { market { order { seller { accept(input: $input) { success } } } } }'
const NAME =
  'mutation ($input: SellerAddTransactionInput!) { market { order { seller { add_transaction(input: $input) { success } } } } }'
const TOGGLE = 'mutation ($input: ToggleOfferInput!) { market { offer { toggle(input: $input) { offer_id } } } }'
const UPDATE = 'mutation ($input: UpdateOfferInput!) { market { offer { update(input: $input) { offer_id } } } }'
const BY = { by: 'operator', reason: 'as the plan says' }
const FOUR_DAYS = 4 * 86_400

/** What buyers, sellers and operators do by hand: all of it through the doors that everybody has. */
export const people = {
  'the operator closes the order': async ({ world }, { id }) => {
    await command(world.market, ask(orderContract, id, 'CloseByOperator', { ...BY, bearsLoss: true as const }))
  },
  'the buyer cancels': async ({ world, bought }, { id }) => {
    const { key } = bought.get(id) ?? { key: null }
    if (key === null) return nothing()
    await world.market.graphql(CANCEL, cancelling(id, 'UNABLE_TO_PAY'), key)
  },
  'the buyer pays again': async ({ world, bought }, { id }) => {
    const order = bought.get(id)
    if (!order) return nothing()
    world.simnet.control.pay(order.buyer, order.invoice)
  },
  'the seller cannot reach the buyer': (stage, subject) =>
    asSeller(stage, subject, CANCEL, cancelling(subject.id, 'UNABLE_TO_CONNECT_TO_NODE')),
  'the seller gives up': (stage, subject) =>
    asSeller(stage, subject, CANCEL, cancelling(subject.id, 'CHANNEL_SIZE_OUT_OF_BOUNDS')),
  'the seller rejects': (stage, subject) =>
    asSeller(stage, subject, REJECT, { input: { order_id: subject.id, reason: 'not today' } }),
  'the seller gives an invoice': (stage, subject) => give(stage, subject, true),
  'the seller gives an invoice twice': (stage, subject) => give(stage, subject, false),
  'the seller names a fresh channel': (stage, subject, much) => nameFresh(stage, subject, much, {}),
  'the seller names a dear channel': (stage, subject, much) => nameFresh(stage, subject, much, { baseFeeMsat: 50_000n }),
  'the seller names a small channel': (stage, subject, much) => nameFresh(stage, subject, much, { isSmall: true }),
  'the seller names what is nowhere': (stage, subject, much) =>
    name(stage, subject, much, `${stage.draws.bytes(32).toString('hex')}:0`),
  "the seller names another's channel": async (stage, subject, much) => {
    const rows = stage.world.simnet.rows<{ outpoint: string }>("SELECT outpoint FROM channels WHERE state = 'published'")
    await name(stage, subject, much, stage.draws.pick(rows.map(({ outpoint }) => outpoint)))
  },
  'the seller goes back to an outpoint': async (stage, subject, much) => {
    const { claims, named } = subject.placed
    const others = claims.map((claim) => claim.split(' ')[1] ?? '').filter((outpoint) => outpoint !== named?.outpoint)
    if (others.length === 0) return nothing()
    await name(stage, subject, much, stage.draws.pick(others))
  },
  'the seller attests': (stage, subject) => attest(stage, subject, ATTESTED, newestOf(subject)),
  // The most of it is of the outpoint that counts, though another one is being recorded.
  'the seller attests falsely': (stage, subject, much) =>
    attest(stage, subject, ATTESTED | FALSELY, much === 1 ? subject.placed.named?.outpoint : newestOf(subject)),
  'the offer is toggled': (stage, subject) => asSeller(stage, subject, TOGGLE, { input: { offer_id: offerOf(subject) } }),
  'the offer gets new terms': (stage, subject) =>
    asSeller(stage, subject, UPDATE, { input: { offer_id: offerOf(subject), fee_rate: stage.draws.between(2300, 2700) } }),
  'the offer is disabled': async ({ world }, subject) => {
    await command(world.market, ask(offerContract, offerOf(subject), 'DisableOffer', BY))
  },
  'the offers are enabled': async ({ world, ledger }) => {
    const ids = new Set(ledger.events.filter(({ category }) => category === 'offer').map(({ aggregateId }) => aggregateId))
    for (const id of ids) await command(world.market, ask(offerContract, id, 'EnableOffer', BY))
  },
  'the seller is granted': async (stage, subject) => {
    await command(stage.world.market, ask(sellerContract, sellerOf(stage, subject).pubkey, 'GrantRails', BY))
  },
  'the seller loses its grant': async (stage, subject) => {
    await command(stage.world.market, ask(sellerContract, sellerOf(stage, subject).pubkey, 'RevokeRails', BY))
  },
} as const satisfies Partial<Record<StrokeName, Doing>>

/** As things are it can do nothing, so it is not counted. */
export const nothing = (): never => {
  throw new Idle('there is nothing to do it to')
}

const cancelling = (id: string, reason: string) => ({ input: { order_id: id, cancellation_reason: reason } })
const offerOf = ({ placed }: Subject): string => (placed.attempts.at(-1)?.candidate ?? placed.terms.candidate).offerId

async function asSeller(stage: Stage, subject: Subject, query: string, variables: object, back = 0): Promise<void> {
  await stage.world.market.graphql(query, variables, sellerOf(stage, subject, back).key)
}

/** A new invoice for what is owed, or one of the same amount that was given for another order already. */
async function give(stage: Stage, subject: Subject, isNew: boolean): Promise<void> {
  const { world, invoices } = stage
  const { alias } = sellerOf(stage, subject)
  const { candidate } = subject.placed.attempts.at(-1) ?? { candidate: subject.placed.terms.candidate }
  const amountMsat = BigInt(candidate.sellerAmountMsat)
  const name = `${alias} ${amountMsat}`
  const given = invoices.get(name) ?? []
  const known = isNew ? undefined : given.find(({ orders }) => !orders.has(subject.id))
  const { request, orders } = known ?? {
    request: world.simnet.control.invoice(alias, amountMsat / 1000n, FOUR_DAYS).invoice,
    orders: new Set<string>(),
  }
  if (!known) invoices.set(name, [...given, { request, orders }])
  orders.add(subject.id)
  await asSeller(stage, subject, ACCEPT, { input: { order_id: subject.id, request } })
}

/** The lowest bit of `much`: with an attestation; the next: by the seller before this one, if there was one. */
const ATTESTED = 1
const BY_THE_ONE_BEFORE = 2
const FALSELY = 4

const newestOf = ({ placed: { offered, named } }: Subject): string | undefined => offered?.outpoint ?? named?.outpoint

async function attest(stage: Stage, subject: Subject, how: number, outpoint: string | undefined): Promise<void> {
  if (outpoint === undefined) return nothing()
  await name(stage, subject, how, outpoint)
}

async function name(stage: Stage, subject: Subject, much: number, outpoint: string): Promise<void> {
  const back = (much & BY_THE_ONE_BEFORE) > 0 ? 1 : 0
  const attestation = (much & ATTESTED) > 0 ? attested(stage, subject, outpoint, back, (much & FALSELY) > 0) : undefined
  const input = { order_id: subject.id, transaction: outpoint, ...(attestation && { attestation }) }
  await asSeller(stage, subject, NAME, { input }, back)
}

function attested(stage: Stage, subject: Subject, outpoint: string, back: number, isFalse: boolean) {
  const { alias, pubkey } = sellerOf(stage, subject, back)
  const { sizeSat, destination } = subject.placed.terms
  const attestation = {
    outpoint,
    capacitySat: BigInt(sizeSat),
    nodeKeys: [pubkey, destination.pubkey] as const,
    // No key of this very output.
    ...(isFalse && { fundingKeys: [pubkey, destination.pubkey] as const }),
    channelType: 'anchors',
    pushSat: 0n,
    reserveSat: 354n,
  }
  return {
    capacity: `${attestation.capacitySat}`,
    node_keys: attestation.nodeKeys,
    ...(attestation.fundingKeys && { funding_keys: attestation.fundingKeys }),
    channel_type: attestation.channelType,
    push_sats: '0',
    reserve_sats: '354',
    signature: stage.world.simnet.control.sign(alias, attestationText(attestation)).signature,
  }
}

type Odd = { readonly baseFeeMsat?: bigint; readonly isSmall?: boolean }

/** Opens and publishes a channel at the seller's own node, as its owner would, and names it. */
async function nameFresh(stage: Stage, subject: Subject, much: number, { baseFeeMsat, isSmall = false }: Odd): Promise<void> {
  const { alias } = sellerOf(stage, subject, (much & BY_THE_ONE_BEFORE) > 0 ? 1 : 0)
  const { sizeSat, destination, isPrivate } = subject.placed.terms
  const { channels, peers } = stage.world.simnet.lightning(alias)
  for (const socket of (await peers.addresses(destination.pubkey)).sockets) await peers.connect(destination.pubkey, socket)
  const funding = await channels.prepare({
    peer: destination.pubkey,
    capacitySat: isSmall ? BigInt(sizeSat) / 2n : BigInt(sizeSat),
    isPrivate,
    feeRateSatPerVbyte: 2,
    ...(baseFeeMsat !== undefined && { baseFeeMsat, feeRatePpm: 5000 }),
  })
  await channels.publish(funding)
  // Its own claim of it is the market's to refuse.
  await name(stage, subject, much, funding.outpoint).catch((error: unknown) => {
    throw error instanceof Fault ? new Refused(String(error)) : error
  })
}
