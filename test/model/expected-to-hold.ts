import type { ModelConfiguration, ModelConstants } from './configuration.ts'
import {
  allSafetyInvariants,
  buyerSafetyInvariants,
  createConfiguration,
  dishonestSellers,
  endProperties,
  lowHeights,
  lowestHeights,
  reachableProperties,
  sellerSafetyInvariants,
} from './configuration-sets.ts'

const everyOutage: Partial<ModelConstants> = { Outages: 1, Downs: ['away', 'starting'] }
const allSafety = [...allSafetyInvariants, 'NoRuling']

/** Creates a function for configurations with the same invariants, which differ in constants and size. */
const createCasesOf =
  (invariants: readonly string[], options: Partial<Pick<ModelConfiguration, 'properties'>> = {}) =>
  (name: string, description: string, constants: Partial<ModelConstants>, size: ModelConfiguration['size'] = 'medium') =>
    createConfiguration({ name, description, size, invariants, ...options, constants })
const createSellerCase = createCasesOf(sellerSafetyInvariants)
const createBuyerCase = createCasesOf(buyerSafetyInvariants, { properties: reachableProperties })

const safeConfigurations: readonly ModelConfiguration[] = [
  createConfiguration({
    name: 'safe-01-replicas',
    description: 'Two honest sellers serve the order in turn, and settlement has two replicas.',
    size: 'small',
    invariants: allSafety,
    properties: reachableProperties,
    constants: { Replicas: 2, Outs: ['a1', 'b1'], Honest: ['A', 'B'] },
  }),
  createConfiguration({
    name: 'safe-02-mixed',
    description: 'A dishonest seller follows an honest one.',
    invariants: sellerSafetyInvariants,
    properties: reachableProperties,
    constants: { Outs: ['a1', 'b1'], ...lowHeights },
  }),
  createConfiguration({
    name: 'safe-03-faults',
    description: 'The buyer is at times offline, and there are a re-org and an outage of either kind.',
    invariants: buyerSafetyInvariants,
    constants: { Buyer: 'flaky', ReOrgs: 1, ...everyOutage },
  }),
  createConfiguration({
    name: 'safe-04-reorg-and-outage',
    description: 'Both sides are honest, and there are a re-org and an outage.',
    invariants: allSafetyInvariants,
    constants: { ReOrgs: 1, Outages: 1 },
  }),
  createBuyerCase(
    'safe-05-liars',
    'A seller that names two channels, and spends them as it likes.',
    { ...dishonestSellers, Kinds: ['good'], Outs: ['a1', 'a2'], ...lowestHeights },
    'large',
  ),
  createBuyerCase('safe-06-liar', 'A seller that lies, with all heights.', dishonestSellers),
  createSellerCase('safe-07-rails', 'An honest rails seller and a buyer that tries to get the channel for nothing.', {
    Rails: ['A'],
    Buyer: 'thief',
  }),
  createBuyerCase(
    'safe-08-rails-liar',
    'A rails seller that lies to a buyer that is at times offline.',
    { Rails: ['A'], ...dishonestSellers, Buyer: 'flaky', ...lowHeights },
    'large',
  ),
  createBuyerCase('safe-09-rails-replicas', 'A rails seller that sells a channel to itself, and two replicas.', {
    Rails: ['A'],
    ...dishonestSellers,
    Kinds: ['alien'],
    Buyer: 'flaky',
    Replicas: 2,
    ...lowestHeights,
  }),
  createSellerCase('safe-10-thief', 'An honest seller and a buyer that tries to get the channel for nothing.', {
    Buyer: 'thief',
  }),
  createBuyerCase(
    'safe-11-names',
    'A seller that lies and names three times, going back to an earlier outpoint.',
    { ...dishonestSellers, Kinds: ['alien'], Outs: ['a1', 'a2'], MaxSaid: 3, ...lowestHeights },
    'large',
  ),
  createConfiguration({
    name: 'safe-12-known',
    description: 'Our graph contains another channel from the seller to the buyer, so that no probe counts.',
    size: 'small',
    invariants: allSafety,
    properties: reachableProperties,
    constants: { Known: ['A'] },
  }),
  createConfiguration({
    name: 'safe-13-twin',
    description: 'A seller forges probes through a channel to the buyer that our graph does not contain.',
    invariants: buyerSafetyInvariants,
    constants: { Twins: ['A'], ...dishonestSellers, ...lowHeights },
  }),
  createConfiguration({
    name: 'safe-14-reorg',
    description: 'Both sides are honest, and a re-org can follow the naming window immediately.',
    size: 'small',
    invariants: allSafety,
    constants: { ReOrgs: 1, SeenIn: 1, Edge: 0 },
  }),
  createSellerCase('safe-15-closer-and-reorg', 'A buyer that force-closes, and a re-org.', { Buyer: 'closer', ReOrgs: 1 }),
  createSellerCase(
    'safe-16-thief-rails-and-outage',
    'An honest rails seller, a hostile buyer and an outage.',
    { Buyer: 'thief', Rails: ['A'], Outages: 1, ...lowHeights },
    'large',
  ),
  createSellerCase(
    'safe-17-edge-alone',
    'A seller that knows no last height of its permit is safe too, where the order answers within the block.',
    {
      Void: true,
      QuickOrder: true,
      Faults: ['permit-past-window'],
      Outs: ['a1', 'a2'],
      SeenIn: 3,
    },
    'small',
  ),
  createSellerCase(
    'safe-18-window-from-naming',
    'A window that counts from the naming itself does no harm, since the permit ends within it.',
    { Faults: ['window-from-naming'] },
    'small',
  ),
  createSellerCase('safe-19-operator-and-thief', 'An operator that may close the order, and a hostile buyer.', {
    OperatorCloses: true,
    Buyer: 'thief',
    ...lowHeights,
  }),
  createBuyerCase('safe-20-operator-and-liar', 'An operator that may close the order, and a seller that lies.', {
    OperatorCloses: true,
    ...dishonestSellers,
    ...lowHeights,
  }),
  createSellerCase('safe-21-spends-vanish', 'A buyer whose spend leaves the mempools again.', {
    SpendsVanish: true,
    Buyer: 'closer',
    ...lowHeights,
  }),
  createBuyerCase('safe-22-spends-of-liar-vanish', 'A seller that lies, and whose spend leaves the mempools again.', {
    SpendsVanish: true,
    ...dishonestSellers,
    Kinds: ['good'],
    ...lowHeights,
  }),
]

const livenessConfigurations: readonly ModelConfiguration[] = [
  createConfiguration({
    name: 'live-1-honest',
    description: 'Orders and payables end although the buyer force-closes and our node has an outage.',
    invariants: [],
    properties: endProperties,
    isFair: true,
    constants: { ...everyOutage, Buyer: 'closer', ...lowHeights },
  }),
  createConfiguration({
    name: 'live-2-liar',
    description: 'Orders and payables end although the seller is dishonest.',
    invariants: [],
    properties: endProperties,
    isFair: true,
    constants: { ...dishonestSellers, ...lowestHeights },
  }),
  createConfiguration({
    name: 'live-3-thief',
    description: 'Orders and payables end although the buyer is hostile, and a channel without payment is closed.',
    invariants: [],
    properties: [...endProperties, 'FreeIsClosed'],
    isFair: true,
    constants: { Buyer: 'thief', ...lowHeights },
  }),
]

/** Scenarios in which an earlier version of the protocol failed. */
const earlierFailures: readonly ModelConfiguration[] = [
  createBuyerCase(
    'case-01-rails-seller-lies',
    'A rails seller opens an output to its own second node; the buyer can be reached.',
    { ...dishonestSellers, Rails: ['A'], ...lowHeights },
  ),
  createConfiguration({
    name: 'case-02-reorg-after-last-height',
    description: 'A re-org removes the funding after the payment was settled.',
    invariants: buyerSafetyInvariants,
    constants: { ...dishonestSellers, ReOrgs: 1, ...lowHeights },
  }),
  createSellerCase('case-03-permit-without-end', 'The permit reaches the seller late.', {}, 'small'),
  createSellerCase('case-04-node-away', 'Our node is away across the last heights.', { Outages: 1 }, 'small'),
  createSellerCase('case-05-buyer-hides', 'The buyer goes offline after the funding.', { Buyer: 'hider' }, 'small'),
  createSellerCase(
    'case-06-spend-in-mempool',
    'The buyer closes the channel just before the last height.',
    { Buyer: 'closer' },
    'small',
  ),
  createSellerCase('case-07-spend-in-mempool-rails', 'The same with a rails seller, and a buyer that hides as well.', {
    Buyer: 'thief',
    Rails: ['A'],
    ...lowHeights,
  }),
  createSellerCase(
    'case-08-window-of-first-naming',
    'An honest seller whose prepared funding became void names another within the first window.',
    { Void: true, Outs: ['a1', 'a2'], SeenIn: 3 },
    'small',
  ),
  createConfiguration({
    name: 'case-09-payable-without-end',
    description: 'A payable ends after a re-org and a double spend.',
    invariants: [],
    properties: ['PayablesEnd'],
    isFair: true,
    constants: { ...dishonestSellers, Kinds: ['good'], ReOrgs: 1, ...lowestHeights },
  }),
  createConfiguration({
    name: 'case-10-spend-never-decided',
    description: 'A payable ends although a spend stays in a mempool for ever.',
    invariants: [],
    properties: ['PayablesEnd'],
    isFair: true,
    constants: { Buyer: 'closer', ...lowHeights },
  }),
  createSellerCase('case-11-guard-gives-up', 'Our node is not synced from before E − 24 to E − 18, or away.', everyOutage),
  createConfiguration({
    name: 'case-12-rails-seller-forges',
    description: 'A rails seller opens the channel to its own second node, and forges the probe.',
    invariants: buyerSafetyInvariants,
    constants: { ...dishonestSellers, Rails: ['A'], Twins: ['A'], ...lowHeights },
  }),
  createConfiguration({
    name: 'case-13-operator-closes',
    description: 'An operator closes an order whose seller publishes before or after the close.',
    size: 'small',
    invariants: allSafety,
    constants: { OperatorCloses: true },
  }),
]

export const expectedToHold: readonly ModelConfiguration[] = [
  ...safeConfigurations,
  ...livenessConfigurations,
  ...earlierFailures,
]
