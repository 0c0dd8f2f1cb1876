import type { Configuration, Constants } from './configuration.ts'
import { buyerSafe, configuration, low, lowest, reachable, sellerSafe } from './sets.ts'

const liars: Partial<Constants> = { Honest: [] }
const railsLiar: Partial<Constants> = { ...liars, Rails: ['A'] }
const twoNames: Partial<Constants> = { Outs: ['a1', 'a2'], SeenIn: 3 }

/** A state that the properties speak of is reached: a property that says it never is has to be violated. */
const seen = (name: string, about: string, expected: string, constants: Partial<Constants>): Configuration =>
  configuration({
    name,
    about,
    expected,
    size: 'small',
    invariants: [expected],
    properties: [],
    constants,
  })

const reached: readonly Configuration[] = [
  seen('seen-1-paid', 'A seller is paid.', 'NeverPaid', {}),
  seen('seen-2-borne', 'The operator pays for a channel as its loss.', 'NeverBorne', {
    Outages: 1,
  }),
  seen('seen-3-refunded', 'A seller’s amount is paid to the buyer.', 'NeverRefunded', {
    ...liars,
    Kinds: ['good'],
    ReOrgs: 1,
    ...low,
  }),
  seen('seen-4-ruled', 'An operator decides over a payout.', 'NoRuling', {
    Rails: ['A'],
    Buyer: 'hider',
  }),
  seen('seen-5-free-from-hider', 'A buyer that hides has a channel for nothing.', 'NeverFree', {
    Buyer: 'hider',
  }),
  seen('seen-6-shallow', 'A wait for a spend ends while the funding has few blocks.', 'NeverShallow', {
    ...liars,
    Kinds: ['good'],
    ReOrgs: 1,
    ...low,
  }),
  seen('seen-7-closed-by-buyer', 'It is known that the buyer closed the channel.', 'NeverCleared', {
    Buyer: 'closer',
  }),
]

type Fault = Pick<Configuration, 'name' | 'about' | 'expected'> &
  Partial<Omit<Configuration, 'constants'>> & {
    readonly faults: readonly string[]
    readonly constants?: Partial<Constants>
  }

/** A mistake in the protocol, which the named property has to notice. */
const fault = ({ faults, constants, ...rest }: Fault): Configuration =>
  configuration({ size: 'small', ...rest, constants: { ...constants, Faults: faults } })
const hurtsSeller = (name: string, about: string, faults: readonly string[], constants: Partial<Constants>): Configuration =>
  fault({ name, about, faults, expected: 'SellerSafe', invariants: sellerSafe, constants })
const hurtsBuyer = (name: string, about: string, faults: readonly string[], constants: Partial<Constants>): Configuration =>
  fault({
    name,
    about,
    faults,
    expected: 'BuyerSafe',
    size: 'medium',
    invariants: buyerSafe,
    constants: { ...railsLiar, ...low, ...constants },
  })
const takesTooMuch = (name: string, about: string, faults: readonly string[], constants: Partial<Constants>): Configuration =>
  fault({
    name,
    about,
    faults,
    expected: 'NotTakenFromReachable',
    properties: reachable,
    constants: { ...low, ...constants },
  })

const ofStreams: readonly Configuration[] = [
  fault({
    name: 'fault-01-no-expected-revision',
    about: 'A decision is appended to a stream that has gone on.',
    faults: ['no-revision'],
    expected: 'NeverBoth',
    invariants: [],
    constants: { Replicas: 2, ...liars, ...low },
  }),
  fault({
    name: 'fault-02-no-outpoint-claim',
    about: 'An outpoint is not claimed, so it can serve two orders.',
    faults: ['no-claim'],
    expected: 'OneOrder',
    constants: liars,
  }),
  fault({
    name: 'fault-03-settles-on-the-orders-word',
    about: 'Settlement takes the money because the order asks for it.',
    faults: ['trust-order'],
    expected: 'Taken',
    invariants: ['Taken'],
    constants: { ...liars, ...low },
  }),
  fault({
    name: 'fault-04-cancels-while-settling',
    about: 'A cancellation is accepted after SettleRequested.',
    faults: ['cancel-late'],
    expected: 'NeverBoth',
    invariants: [],
    constants: { ...liars, ...low },
  }),
  fault({
    name: 'fault-05-no-guard',
    about: 'There is no guard.',
    faults: ['no-guard'],
    expected: 'NoneForgotten',
  }),
  fault({
    name: 'fault-06-order-ends-before-the-node',
    about: 'An order ends before the node confirmed the cancellation.',
    faults: ['end-early'],
    expected: 'EndsTrue',
  }),
  fault({
    name: 'fault-07-payout-without-look-up',
    about: 'A payout is sent again without looking it up.',
    faults: ['pay-blind'],
    expected: 'PaidOnce',
  }),
  fault({
    name: 'fault-08-payable-before-settled',
    about: 'The seller is owed before the node shows the payment as settled.',
    faults: ['pay-early'],
    expected: 'PaidOnce',
    invariants: ['PaidOnce'],
  }),
]

const ofNaming: readonly Configuration[] = [
  fault({
    name: 'fault-09-note-at-any-height',
    about: 'An outpoint is noted above the last height of broadcast.',
    faults: ['late-note'],
    expected: 'NotedInTime',
  }),
  hurtsSeller('fault-10-acknowledged-before-noted', 'A naming is acknowledged before settlement noted it.', ['ack-early'], {}),
  fault({
    name: 'fault-12-older-naming-wins',
    about: 'A naming that comes late takes the place of a newer one.',
    faults: ['old-note'],
    expected: 'NamedIsNoted',
    constants: { ...liars, Outs: ['a1', 'a2'], ...low },
  }),
  fault({
    name: 'fault-14-old-window',
    about: 'Each naming begins the window anew.',
    faults: ['old-window'],
    expected: 'WindowOnce',
    constants: { ...liars, Outs: ['a1', 'a2'], ...low },
  }),
  hurtsSeller('fault-15-no-last-height', 'A seller publishes at any height.', ['no-last-height'], {}),
  hurtsSeller(
    'fault-23-no-edge',
    'An outpoint is accepted in the last blocks of the window, from a seller that knows no last height of its permit.',
    ['no-edge', 'permit-past-window'],
    { Void: true, QuickOrder: true, ...twoNames },
  ),
  fault({
    name: 'fault-27-any-acknowledgement',
    about: 'The acknowledgement of an earlier naming counts for a later one.',
    faults: ['any-ack'],
    expected: 'NamedIsNoted',
    size: 'medium',
    constants: { ...liars, Outs: ['a1', 'a2'], MaxSaid: 3, ...low },
  }),
  hurtsSeller('fault-28-reorg-is-late', 'A funding that was confirmed in time is late after a re-org.', ['reorg-is-late'], {
    ReOrgs: 1,
    SeenIn: 1,
    Edge: 0,
  }),
  hurtsSeller('fault-33-permit-past-window', 'The permit’s last height ignores the window of naming.', ['permit-past-window'], {
    Void: true,
    ...twoNames,
  }),
  hurtsSeller(
    'fault-34-window-from-naming',
    'The window counts from the naming, not from its acknowledgement, and the permit ignores it.',
    ['window-from-naming', 'permit-past-window'],
    {},
  ),
  fault({
    name: 'fault-42-names-without-end',
    about: 'An attempt names as many outpoints as it likes.',
    faults: ['names-without-end'],
    expected: 'FewNames',
    constants: { ...liars, Outs: ['a1', 'a2'], MaxNames: 1, ...low },
  }),
]

const ofProofs: readonly Configuration[] = [
  takesTooMuch('fault-11-no-confirmation', 'A funding without a confirmation is enough.', ['zero-conf'], liars),
  fault({
    name: 'fault-13-chain-proof-for-all',
    about: 'The chain alone proves the channel of any seller.',
    faults: ['chain-for-all'],
    expected: 'Taken',
    constants: { ...liars, Buyer: 'flaky', ...low },
  }),
  hurtsSeller('fault-16-spend-counts', 'A spend in a mempool counts against the proof at the last height.', ['spend-counts'], {
    Buyer: 'closer',
  }),
  hurtsSeller('fault-17-spend-counts-rails', 'The same with a rails seller.', ['spend-counts'], {
    Buyer: 'thief',
    Rails: ['A'],
  }),
  takesTooMuch(
    'fault-18-chain-for-reachable',
    'The chain proves a rails seller’s channel though the buyer was reached.',
    ['chain-for-reachable'],
    railsLiar,
  ),
  takesTooMuch('fault-24-reached-in-memory', 'One replica keeps in memory that it reached the buyer.', ['reached-in-memory'], {
    ...railsLiar,
    Buyer: 'flaky',
  }),
  takesTooMuch('fault-25-untried', 'A buyer that was not tried since an outage counts as not reached.', ['untried'], {
    ...railsLiar,
    Outages: 1,
  }),
  fault({
    name: 'fault-29-guard-does-not-wait',
    about: 'The guard gives up at E − 24 though the node is starting.',
    faults: ['no-wait'],
    expected: 'GuardWaits',
    constants: { Outages: 1, Downs: ['starting'] },
  }),
  takesTooMuch(
    'fault-39-stale-reach',
    'A replica settles by a look from before another one reached the buyer.',
    ['stale-reach'],
    { ...railsLiar, Buyer: 'flaky' },
  ),
]

const endless = (name: string, about: string, faults: readonly string[], constants: Partial<Constants>): Configuration =>
  fault({
    name,
    about,
    faults,
    expected: 'PayablesEnd',
    invariants: [],
    properties: ['PayablesEnd'],
    isFair: true,
    constants,
  })

const ofPayouts: readonly Configuration[] = [
  hurtsBuyer('fault-19-peer-end-pays', 'At its end a payout without a peer proof is paid.', ['peer-end-pays'], {
    Buyer: 'flaky',
  }),
  endless('fault-20-payable-for-ever', 'A payout whose funding left the chain is never closed.', ['for-ever'], {
    ...liars,
    Kinds: ['good'],
    ReOrgs: 1,
    ...lowest,
  }),
  endless('fault-21-spend-for-ever', 'A payout waits for a spend without an end.', ['spend-for-ever'], {
    Buyer: 'closer',
    ...low,
  }),
  fault({
    name: 'fault-26-operator-rules-while-paying',
    about: 'An operator decides while the payout is under way.',
    faults: ['rules-while-paying'],
    expected: 'Exclusive',
    constants: { Rails: ['A'], Buyer: 'flaky' },
  }),
  hurtsBuyer(
    'fault-31-rails-do-not-wait',
    'The payout of a rails seller does not wait for the announcement.',
    ['rails-do-not-wait'],
    {
      Twins: ['A'],
    },
  ),
  fault({
    name: 'fault-32-spend-forgotten',
    about: 'A spend that confirms before the payout no longer withholds it.',
    faults: ['spend-forgotten'],
    expected: 'SoldOpen',
    size: 'medium',
    constants: { ...liars, ...low },
  }),
  hurtsBuyer(
    'fault-36-one-reason',
    'A payout has one reason at a time, so a spend replaces a missing peer proof.',
    ['one-reason'],
    {
      Buyer: 'flaky',
    },
  ),
  hurtsSeller(
    'fault-37-shallow-end-closes',
    'At the end of a wait for a spend a funding with few blocks counts as none.',
    ['shallow-end-closes'],
    { Buyer: 'closer', ReOrgs: 1, Held: 2 },
  ),
  hurtsSeller('fault-41-blames-seller', 'A close by the buyer, known as such, goes against the seller.', ['blames-seller'], {
    Buyer: 'closer',
  }),
]

const ofLosses: readonly Configuration[] = [
  hurtsSeller('fault-22-node-loss-not-borne', 'Nobody bears a hold that the node gave back by itself.', ['node-loss-not-borne'], {
    Outages: 1,
  }),
  hurtsSeller(
    'fault-30-guard-loss-not-borne',
    'Nobody bears a hold that the guard gave up because the node was not ready.',
    ['guard-loss-not-borne'],
    { Outages: 1, Downs: ['starting'] },
  ),
  hurtsSeller('fault-35-proven-before', 'Only a hold that was proven before the outage is borne.', ['proven-before'], {
    Outages: 1,
  }),
  fault({
    name: 'fault-38-agent-closes-all',
    about: 'The seller’s agent closes a channel that the operator pays for.',
    faults: ['agent-closes-all'],
    expected: 'LossStaysOpen',
    invariants: ['LossStaysOpen'],
    constants: { Outages: 1 },
  }),
  hurtsSeller('fault-40-close-not-borne', 'Nobody bears the close of an order by its operator.', ['close-not-borne'], {
    OperatorCloses: true,
  }),
]

const faults = [...ofStreams, ...ofNaming, ...ofProofs, ...ofPayouts, ...ofLosses].toSorted((one, other) =>
  one.name.localeCompare(other.name),
)

export const violated: readonly Configuration[] = [...reached, ...faults]
