import { command } from '@penstock/kernel/process.ts'
import { formatChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import type { OfferTarget, SellerTarget } from '@penstock/contracts/matching.ts'
import type { OrderTarget } from '@penstock/contracts/order.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { InjectionName } from '../plan/triggers.ts'
import { sendOperatorCommand } from '../workload/operator-actions.ts'
import { NothingToDo, RefusedByMarket } from '../world/gateway-access.ts'
import { findSellerOfOrder, type InjectionContext, type InjectionTarget } from './injection-context.ts'
import {
  ACCEPT_MUTATION,
  ADD_TRANSACTION_MUTATION,
  CANCEL_MUTATION,
  REJECT_MUTATION,
  TOGGLE_OFFER_MUTATION,
  UPDATE_OFFER_MUTATION,
} from '../../support/market-operations.ts'

export type RunInjection = (context: InjectionContext, target: InjectionTarget, amount: number) => Promise<void>

const OPERATOR_REASON = { by: 'operator', reason: 'as the plan says' }
const FOUR_DAYS_SECONDS = 4 * 86_400

/** Manual actions of buyers, sellers and operators, by the interfaces that they have in production. */
export const peopleInjections = {
  'the operator closes the order': async ({ world }, { id }) => {
    await sendOperatorCommand(
      world.market,
      command<OrderTarget>('order', id, { type: 'CloseByOperator', data: { ...OPERATOR_REASON, bearsLoss: true as const } }),
    )
  },
  'the buyer cancels': async ({ world, boughtOrders }, { id }) => {
    const { key } = boughtOrders.get(id) ?? { key: null }
    if (key === null) return throwNothingToDo()
    await world.market.graphql(CANCEL_MUTATION, buildCancelInput(id, 'UNABLE_TO_PAY'), key)
  },
  'the buyer pays again': async ({ world, boughtOrders }, { id }) => {
    const order = boughtOrders.get(id)
    if (!order) return throwNothingToDo()
    world.simnet.control.pay(order.buyer, order.invoice)
  },
  'the seller cannot reach the buyer': (context, target) =>
    mutateAsSeller(context, target, CANCEL_MUTATION, buildCancelInput(target.id, 'UNABLE_TO_CONNECT_TO_NODE')),
  'the seller gives up': (context, target) =>
    mutateAsSeller(context, target, CANCEL_MUTATION, buildCancelInput(target.id, 'CHANNEL_SIZE_OUT_OF_BOUNDS')),
  'the seller rejects': (context, target) =>
    mutateAsSeller(context, target, REJECT_MUTATION, { input: { order_id: target.id, reason: 'not today' } }),
  'the seller gives an invoice': (context, target) => submitInvoice(context, target, true),
  'the seller gives an invoice twice': (context, target) => submitInvoice(context, target, false),
  'the seller names a fresh channel': (context, target, amount) => openAndSubmitChannel(context, target, amount, {}),
  'the seller names a dear channel': (context, target, amount) =>
    openAndSubmitChannel(context, target, amount, { baseFeeMsat: 50_000n }),
  'the seller names a small channel': (context, target, amount) =>
    openAndSubmitChannel(context, target, amount, { isSmall: true }),
  'the seller names what is nowhere': (context, target, amount) =>
    submitOutpoint(context, target, amount, `${context.draws.bytes(32).toString('hex')}:0`),
  "the seller names another's channel": async (context, target, amount) => {
    const rows = context.world.simnet.rows<{ outpoint: string }>("SELECT outpoint FROM channels WHERE state = 'published'")
    await submitOutpoint(context, target, amount, context.draws.pick(rows.map(({ outpoint }) => outpoint)))
  },
  'the seller goes back to an outpoint': async (context, target, amount) => {
    const { claimedOutpoints, outpoint: accepted } = target.order
    const earlierOutpoints = claimedOutpoints
      .map((claim) => claim.split(' ')[1] ?? '')
      .filter((outpoint) => outpoint !== accepted?.outpoint)
    if (earlierOutpoints.length === 0) return throwNothingToDo()
    await submitOutpoint(context, target, amount, context.draws.pick(earlierOutpoints))
  },
  'the seller attests': (context, target) => attestOutpoint(context, target, ATTESTED, findNewestOutpoint(target)),
  // With the amount 1 the attestation is for the accepted outpoint, even if a newer outpoint is pending.
  'the seller attests falsely': (context, target, amount) =>
    attestOutpoint(
      context,
      target,
      ATTESTED | FALSE_ATTESTATION,
      (amount === 1 ? target.order.outpoint?.outpoint : undefined) ?? findNewestOutpoint(target),
    ),
  'the offer is toggled': (context, target) =>
    mutateAsSeller(context, target, TOGGLE_OFFER_MUTATION, { input: { offer_id: findOfferId(target) } }),
  'the offer gets new terms': (context, target) =>
    mutateAsSeller(context, target, UPDATE_OFFER_MUTATION, {
      input: { offer_id: findOfferId(target), fee_rate: context.draws.between(2300, 2700) },
    }),
  'the offer is disabled': async ({ world }, target) => {
    await sendOperatorCommand(
      world.market,
      command<OfferTarget>('offer', findOfferId(target), { type: 'DisableOffer', data: OPERATOR_REASON }),
    )
  },
  'the offers are enabled': async ({ world, log }) => {
    const ids = new Set(log.events.filter(({ category }) => category === 'offer').map(({ aggregateId }) => aggregateId))
    for (const id of ids)
      await sendOperatorCommand(world.market, command<OfferTarget>('offer', id, { type: 'EnableOffer', data: OPERATOR_REASON }))
  },
  'the seller is granted': async (context, target) => {
    await sendOperatorCommand(
      context.world.market,
      command<SellerTarget>('seller', findSellerOfOrder(context, target).pubkey, { type: 'GrantRails', data: OPERATOR_REASON }),
    )
  },
  'the seller loses its grant': async (context, target) => {
    await sendOperatorCommand(
      context.world.market,
      command<SellerTarget>('seller', findSellerOfOrder(context, target).pubkey, { type: 'RevokeRails', data: OPERATOR_REASON }),
    )
  },
} as const satisfies Partial<Record<InjectionName, RunInjection>>

/** Ends an injection that is impossible in the present state. Such an injection does not count for coverage. */
export const throwNothingToDo = (): never => {
  throw new NothingToDo('the injection is impossible in the present state')
}

const buildCancelInput = (id: string, reason: string) => ({ input: { order_id: id, cancellation_reason: reason } })
const findOfferId = ({ order }: InjectionTarget): string => (order.attempts.at(-1)?.candidate ?? order.terms.candidate).offerId

async function mutateAsSeller(
  context: InjectionContext,
  target: InjectionTarget,
  query: string,
  variables: object,
  turnsBack = 0,
): Promise<void> {
  await context.world.market.graphql(query, variables, findSellerOfOrder(context, target, turnsBack).key)
}

/** Submits a payout invoice: a new one, or, if `isNew` is false and it exists, an invoice of the same amount of another order. */
async function submitInvoice(context: InjectionContext, target: InjectionTarget, isNew: boolean): Promise<void> {
  const { world, invoices } = context
  const { alias } = findSellerOfOrder(context, target)
  const { candidate } = target.order.attempts.at(-1) ?? { candidate: target.order.terms.candidate }
  const amountMsat = BigInt(candidate.sellerAmountMsat)
  const invoiceKey = `${alias} ${amountMsat}`
  const submittedInvoices = invoices.get(invoiceKey) ?? []
  const reused = isNew ? undefined : submittedInvoices.find(({ orders }) => !orders.has(target.id))
  const { request, orders } = reused ?? {
    request: world.simnet.control.invoice(alias, amountMsat / 1000n, FOUR_DAYS_SECONDS).invoice,
    orders: new Set<string>(),
  }
  if (!reused) invoices.set(invoiceKey, [...submittedInvoices, { request, orders }])
  orders.add(target.id)
  await mutateAsSeller(context, target, ACCEPT_MUTATION, { input: { order_id: target.id, request } })
}

/** Bits of `amount`: submit an attestation; act as the seller of the previous attempt, if any; make the attestation false. */
const ATTESTED = 1
const BY_PREVIOUS_SELLER = 2
const FALSE_ATTESTATION = 4

const findNewestOutpoint = ({ order: { pendingOutpoint, outpoint } }: InjectionTarget): string | undefined =>
  pendingOutpoint?.outpoint ?? outpoint?.outpoint

async function attestOutpoint(
  context: InjectionContext,
  target: InjectionTarget,
  flags: number,
  outpoint: string | undefined,
): Promise<void> {
  if (outpoint === undefined) return throwNothingToDo()
  await submitOutpoint(context, target, flags, outpoint)
}

async function submitOutpoint(
  context: InjectionContext,
  target: InjectionTarget,
  amount: number,
  outpoint: string,
): Promise<void> {
  const turnsBack = (amount & BY_PREVIOUS_SELLER) > 0 ? 1 : 0
  const attestation =
    (amount & ATTESTED) > 0
      ? createAttestation(context, target, outpoint, turnsBack, (amount & FALSE_ATTESTATION) > 0)
      : undefined
  const input = { order_id: target.id, transaction: outpoint, ...(attestation && { attestation }) }
  await mutateAsSeller(context, target, ADD_TRANSACTION_MUTATION, { input }, turnsBack)
}

function createAttestation(
  context: InjectionContext,
  target: InjectionTarget,
  outpoint: string,
  turnsBack: number,
  isFalse: boolean,
) {
  const { alias, pubkey } = findSellerOfOrder(context, target, turnsBack)
  const { sizeSat, destination } = target.order.terms
  const attestation = {
    outpoint,
    capacitySat: BigInt(sizeSat),
    nodeKeys: [pubkey, destination.pubkey] as const,
    // These are node keys, and the funding output has other keys.
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
    signature: context.world.simnet.control.sign(alias, formatChannelAttestation(attestation)).signature,
  }
}

type ChannelOptions = { readonly baseFeeMsat?: bigint; readonly isSmall?: boolean }

/** Opens and publishes a channel at the seller's node without the seller's agent, and submits its outpoint. */
async function openAndSubmitChannel(
  context: InjectionContext,
  target: InjectionTarget,
  amount: number,
  { baseFeeMsat, isSmall = false }: ChannelOptions,
): Promise<void> {
  const { alias } = findSellerOfOrder(context, target, (amount & BY_PREVIOUS_SELLER) > 0 ? 1 : 0)
  const { sizeSat, destination, isPrivate } = target.order.terms
  const { channels, peers } = context.world.simnet.lightning(alias)
  for (const socket of (await peers.addresses(destination.pubkey)).sockets) await peers.connect(destination.pubkey, socket)
  const funding = await channels.prepare({
    peer: destination.pubkey,
    capacitySat: isSmall ? BigInt(sizeSat) / 2n : BigInt(sizeSat),
    isPrivate,
    feeRateSatPerVbyte: 2,
    ...(baseFeeMsat !== undefined && { baseFeeMsat, feeRatePpm: 5000 }),
  })
  await channels.publish(funding)
  // The channel is open, so the injection has had an effect even if the market does not answer.
  await submitOutpoint(context, target, amount, funding.outpoint).catch((error: unknown) => {
    throw error instanceof Fault ? new RefusedByMarket(String(error)) : error
  })
}
