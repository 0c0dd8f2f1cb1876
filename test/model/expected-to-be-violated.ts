import type { ModelConfiguration, ModelConstants } from './configuration.ts'
import {
  buyerSafetyInvariants,
  createConfiguration,
  dishonestSellers,
  lowHeights,
  lowestHeights,
  reachableProperties,
  sellerSafetyInvariants,
} from './configuration-sets.ts'
import { reachedStates } from './reached-states.ts'

const dishonestRailsSeller: Partial<ModelConstants> = { ...dishonestSellers, Rails: ['A'] }
const twoOutpoints: Partial<ModelConstants> = { Outs: ['a1', 'a2'], SeenIn: 3 }

type MistakeOptions = Partial<Omit<ModelConfiguration, 'constants'>> & { readonly constants?: Partial<ModelConstants> }

/** Creates a configuration that injects a mistake into the protocol, so that TLC has to report the expected violation. */
const createMistake = (
  name: string,
  description: string,
  faults: readonly string[],
  expected: string,
  { constants, ...rest }: MistakeOptions = {},
): ModelConfiguration =>
  createConfiguration({ name, description, expected, size: 'small', ...rest, constants: { ...constants, Faults: faults } })

/** Creates a function for mistakes that violate the same property, and differ in faults and constants. */
const createMistakesOf =
  (expected: string, { constants: shared, ...options }: MistakeOptions = {}) =>
  (name: string, description: string, faults: readonly string[], constants: Partial<ModelConstants> = {}) =>
    createMistake(name, description, faults, expected, { ...options, constants: { ...shared, ...constants } })

const createSellerMistake = createMistakesOf('SellerSafe', { invariants: sellerSafetyInvariants })
const createBuyerMistake = createMistakesOf('BuyerSafe', {
  size: 'medium',
  invariants: buyerSafetyInvariants,
  constants: { ...dishonestRailsSeller, ...lowHeights },
})
const createOverchargeMistake = createMistakesOf('NotTakenFromReachable', {
  properties: reachableProperties,
  constants: lowHeights,
})
const createEndlessMistake = createMistakesOf('PayablesEnd', { invariants: [], properties: ['PayablesEnd'], isFair: true })

const streamMistakes: readonly ModelConfiguration[] = [
  createMistake(
    'fault-01-no-expected-revision',
    'A decision is appended to a stream that has gone on.',
    ['no-revision'],
    'NeverBoth',
    { invariants: [], constants: { Replicas: 2, ...dishonestSellers, ...lowHeights } },
  ),
  createMistake(
    'fault-02-no-outpoint-claim',
    'An outpoint is not claimed, so it can serve two orders.',
    ['no-claim'],
    'OneOrder',
    { constants: dishonestSellers },
  ),
  createMistake(
    'fault-03-settles-on-the-orders-word',
    'Settlement takes the money because the order asks for it.',
    ['trust-order'],
    'Taken',
    { invariants: ['Taken'], constants: { ...dishonestSellers, ...lowHeights } },
  ),
  createMistake(
    'fault-04-cancels-while-settling',
    'A cancellation is accepted after SettlementStarted.',
    ['cancel-late'],
    'NeverBoth',
    { invariants: [], constants: { ...dishonestSellers, ...lowHeights } },
  ),
  createMistake('fault-05-no-guard', 'There is no guard.', ['no-guard'], 'NoneForgotten'),
  createMistake(
    'fault-06-order-ends-before-the-node',
    'An order ends before the node confirmed the cancellation.',
    ['end-early'],
    'EndsTrue',
  ),
  createMistake('fault-07-payout-without-look-up', 'A payout is sent again without looking it up.', ['pay-blind'], 'PaidOnce'),
  createMistake(
    'fault-08-payable-before-settled',
    'The seller is owed before the node shows the payment as settled.',
    ['pay-early'],
    'PaidOnce',
    { invariants: ['PaidOnce'] },
  ),
]

const outpointMistakes: readonly ModelConfiguration[] = [
  createMistake(
    'fault-09-note-at-any-height',
    'An outpoint is noted above the last height of broadcast.',
    ['late-note'],
    'NotedInTime',
  ),
  createSellerMistake('fault-10-acknowledged-before-noted', 'A naming is acknowledged before settlement noted it.', [
    'ack-early',
  ]),
  createMistake(
    'fault-12-older-naming-wins',
    'A naming that comes late takes the place of a newer one.',
    ['old-note'],
    'NamedIsNoted',
    { constants: { ...dishonestSellers, Outs: ['a1', 'a2'], ...lowHeights } },
  ),
  createMistake('fault-14-old-window', 'Each naming begins the window anew.', ['old-window'], 'WindowOnce', {
    constants: { ...dishonestSellers, Outs: ['a1', 'a2'], ...lowHeights },
  }),
  createSellerMistake('fault-15-no-last-height', 'A seller publishes at any height.', ['no-last-height']),
  createSellerMistake(
    'fault-23-no-edge',
    'An outpoint is accepted in the last blocks of the window from a seller whose permit has no last height.',
    ['no-edge', 'permit-past-window'],
    { Void: true, QuickOrder: true, ...twoOutpoints },
  ),
  createMistake(
    'fault-27-any-acknowledgement',
    'The acknowledgement of an earlier naming counts for a later one.',
    ['any-ack'],
    'NamedIsNoted',
    { size: 'medium', constants: { ...dishonestSellers, Outs: ['a1', 'a2'], MaxSaid: 3, ...lowHeights } },
  ),
  createSellerMistake(
    'fault-28-reorg-is-late',
    'A funding that was confirmed in time counts as late after a re-org.',
    ['reorg-is-late'],
    {
      ReOrgs: 1,
      SeenIn: 1,
      Edge: 0,
    },
  ),
  createSellerMistake(
    'fault-33-permit-past-window',
    'The last height of the permit ignores the naming window.',
    ['permit-past-window'],
    {
      Void: true,
      ...twoOutpoints,
    },
  ),
  createSellerMistake(
    'fault-34-window-from-naming',
    'The naming window begins at the submission instead of the acknowledgement, and the permit ignores the window.',
    ['window-from-naming', 'permit-past-window'],
  ),
  createMistake(
    'fault-42-names-without-end',
    'An attempt names as many outpoints as it likes.',
    ['names-without-end'],
    'FewNames',
    { constants: { ...dishonestSellers, Outs: ['a1', 'a2'], MaxNames: 1, ...lowHeights } },
  ),
]

const proofMistakes: readonly ModelConfiguration[] = [
  createOverchargeMistake(
    'fault-11-no-confirmation',
    'An unconfirmed funding is accepted as proof.',
    ['zero-conf'],
    dishonestSellers,
  ),
  createMistake('fault-13-chain-proof-for-all', 'The chain alone proves the channel of any seller.', ['chain-for-all'], 'Taken', {
    constants: { ...dishonestSellers, Buyer: 'flaky', ...lowHeights },
  }),
  createSellerMistake(
    'fault-16-spend-counts',
    'At the last height a spend in a mempool invalidates the proof.',
    ['spend-counts'],
    {
      Buyer: 'closer',
    },
  ),
  createSellerMistake(
    'fault-17-spend-counts-rails',
    'At the last height a spend in a mempool invalidates the proof of a rails seller.',
    ['spend-counts'],
    {
      Buyer: 'thief',
      Rails: ['A'],
    },
  ),
  createOverchargeMistake(
    'fault-18-chain-for-reachable',
    'The chain alone proves a rails seller’s channel although our node reached the buyer.',
    ['chain-for-reachable'],
    dishonestRailsSeller,
  ),
  createOverchargeMistake(
    'fault-24-reached-in-memory',
    'A replica records only in memory that it reached the buyer.',
    ['reached-in-memory'],
    {
      ...dishonestRailsSeller,
      Buyer: 'flaky',
    },
  ),
  createOverchargeMistake('fault-25-untried', 'A buyer that was not tried since an outage counts as not reached.', ['untried'], {
    ...dishonestRailsSeller,
    Outages: 1,
  }),
  createMistake(
    'fault-29-guard-does-not-wait',
    'The guard gives up at E − 24 though the node is starting.',
    ['no-wait'],
    'GuardWaits',
    { constants: { Outages: 1, Downs: ['starting'] } },
  ),
  createOverchargeMistake(
    'fault-39-stale-reach',
    'A replica settles by evidence that is older than another replica’s contact with the buyer.',
    ['stale-reach'],
    { ...dishonestRailsSeller, Buyer: 'flaky' },
  ),
]

const payoutMistakes: readonly ModelConfiguration[] = [
  createBuyerMistake('fault-19-peer-end-pays', 'A payout without a peer proof is paid at its end height.', ['peer-end-pays'], {
    Buyer: 'flaky',
  }),
  createEndlessMistake('fault-20-payable-for-ever', 'A payout whose funding left the chain is never closed.', ['for-ever'], {
    ...dishonestSellers,
    Kinds: ['good'],
    ReOrgs: 1,
    ...lowestHeights,
  }),
  createEndlessMistake('fault-21-spend-for-ever', 'A payout waits for a spend without an end height.', ['spend-for-ever'], {
    Buyer: 'closer',
    ...lowHeights,
  }),
  createMistake(
    'fault-26-operator-rules-while-paying',
    'An operator decides while the payout is under way.',
    ['rules-while-paying'],
    'Exclusive',
    { constants: { Rails: ['A'], Buyer: 'flaky' } },
  ),
  createBuyerMistake(
    'fault-31-rails-do-not-wait',
    'The payout of a rails seller does not wait for the announcement.',
    ['rails-do-not-wait'],
    {
      Twins: ['A'],
    },
  ),
  createMistake(
    'fault-32-spend-forgotten',
    'A spend that confirms before the payout no longer withholds it.',
    ['spend-forgotten'],
    'SoldOpen',
    { size: 'medium', constants: { ...dishonestSellers, ...lowHeights } },
  ),
  createBuyerMistake(
    'fault-36-one-reason',
    'A payout has one withholding cause at a time, so that a spend replaces a missing peer proof.',
    ['one-reason'],
    {
      Buyer: 'flaky',
    },
  ),
  createSellerMistake(
    'fault-37-shallow-end-closes',
    'When the wait for a spend ends, a funding with few confirmations counts as missing.',
    ['shallow-end-closes'],
    { Buyer: 'closer', ReOrgs: 1, Held: 2 },
  ),
  createSellerMistake(
    'fault-41-blames-seller',
    'A payout goes to the buyer although our node learnt that the buyer closed the channel.',
    ['blames-seller'],
    {
      Buyer: 'closer',
    },
  ),
]

const lossMistakes: readonly ModelConfiguration[] = [
  createSellerMistake(
    'fault-22-node-loss-not-borne',
    'A hold that the node cancelled by itself is not an operator loss.',
    ['node-loss-not-borne'],
    {
      Outages: 1,
    },
  ),
  createSellerMistake(
    'fault-30-guard-loss-not-borne',
    'A hold that the guard cancelled because the node was not ready is not an operator loss.',
    ['guard-loss-not-borne'],
    { Outages: 1, Downs: ['starting'] },
  ),
  createSellerMistake('fault-35-proven-before', 'Only a hold that was proven before the outage is borne.', ['proven-before'], {
    Outages: 1,
  }),
  createMistake(
    'fault-38-agent-closes-all',
    'The seller’s agent closes a channel that the operator pays for.',
    ['agent-closes-all'],
    'LossStaysOpen',
    { invariants: ['LossStaysOpen'], constants: { Outages: 1 } },
  ),
  createSellerMistake('fault-40-close-not-borne', 'Nobody bears the close of an order by its operator.', ['close-not-borne'], {
    OperatorCloses: true,
  }),
]

const mistakes = [...streamMistakes, ...outpointMistakes, ...proofMistakes, ...payoutMistakes, ...lossMistakes].toSorted(
  (one, other) => one.name.localeCompare(other.name),
)

export const expectedToBeViolated: readonly ModelConfiguration[] = [...reachedStates, ...mistakes]
