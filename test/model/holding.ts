import type { Configuration, Constants } from './configuration.ts'
import { bothSafe, buyerSafe, configuration, ends, low, lowest, reachable, sellerSafe } from './sets.ts'

const liars: Partial<Constants> = { Honest: [] }
const everyOutage: Partial<Constants> = { Outages: 1, Downs: ['away', 'starting'] }
const allSafe = [...bothSafe, 'NoRuling']

const safe: readonly Configuration[] = [
  configuration({
    name: 'safe-01-replicas',
    about: 'Two honest sellers, one after the other, and two replicas of settlement.',
    size: 'small',
    invariants: allSafe,
    properties: reachable,
    constants: { Replicas: 2, Outs: ['a1', 'b1'], Honest: ['A', 'B'] },
  }),
  configuration({
    name: 'safe-02-mixed',
    about: 'An honest seller, and another one after it that is not.',
    invariants: sellerSafe,
    properties: reachable,
    constants: { Outs: ['a1', 'b1'], ...low },
  }),
  configuration({
    name: 'safe-03-faults',
    about: 'A buyer that is at times offline, a re-org, and an outage of our node of either kind.',
    invariants: buyerSafe,
    constants: { Buyer: 'flaky', ReOrgs: 1, ...everyOutage },
  }),
  configuration({
    name: 'safe-04-reorg-and-outage',
    about: 'Both sides honest; a re-org and an outage.',
    invariants: bothSafe,
    constants: { ReOrgs: 1, Outages: 1 },
  }),
  configuration({
    name: 'safe-05-liars',
    about: 'A seller that names two channels, and spends them as it likes.',
    size: 'large',
    invariants: buyerSafe,
    properties: reachable,
    constants: { ...liars, Kinds: ['good'], Outs: ['a1', 'a2'], ...lowest },
  }),
  configuration({
    name: 'safe-06-liar',
    about: 'A seller that lies, with all heights.',
    invariants: buyerSafe,
    properties: reachable,
    constants: liars,
  }),
  configuration({
    name: 'safe-07-rails',
    about: 'An honest rails seller and a buyer that tries to get the channel for nothing.',
    invariants: sellerSafe,
    constants: { Rails: ['A'], Buyer: 'thief' },
  }),
  configuration({
    name: 'safe-08-rails-liar',
    about: 'A rails seller that lies to a buyer that is at times offline.',
    size: 'large',
    invariants: buyerSafe,
    properties: reachable,
    constants: { Rails: ['A'], ...liars, Buyer: 'flaky', ...low },
  }),
  configuration({
    name: 'safe-09-rails-replicas',
    about: 'A rails seller that sells a channel to itself, and two replicas.',
    invariants: buyerSafe,
    properties: reachable,
    constants: { Rails: ['A'], ...liars, Kinds: ['alien'], Buyer: 'flaky', Replicas: 2, ...lowest },
  }),
  configuration({
    name: 'safe-10-thief',
    about: 'An honest seller and a buyer that tries to get the channel for nothing.',
    invariants: sellerSafe,
    constants: { Buyer: 'thief' },
  }),
  configuration({
    name: 'safe-11-names',
    about: 'A seller that lies and names three times, going back to an earlier outpoint.',
    size: 'large',
    invariants: buyerSafe,
    properties: reachable,
    constants: { ...liars, Kinds: ['alien'], Outs: ['a1', 'a2'], MaxSaid: 3, ...lowest },
  }),
  configuration({
    name: 'safe-12-known',
    about: 'Another channel to the buyer is in our graph, so no probe counts.',
    size: 'small',
    invariants: allSafe,
    properties: reachable,
    constants: { Known: ['A'] },
  }),
  configuration({
    name: 'safe-13-twin',
    about: 'A seller that forges probes over a channel to the buyer that our graph does not know.',
    invariants: buyerSafe,
    constants: { Twins: ['A'], ...liars, ...low },
  }),
  configuration({
    name: 'safe-14-reorg',
    about: 'Both sides honest; a re-org right after the window of naming.',
    size: 'small',
    invariants: allSafe,
    constants: { ReOrgs: 1, SeenIn: 1, Edge: 0 },
  }),
  configuration({
    name: 'safe-15-closer-and-reorg',
    about: 'A buyer that force-closes, and a re-org.',
    invariants: sellerSafe,
    constants: { Buyer: 'closer', ReOrgs: 1 },
  }),
  configuration({
    name: 'safe-16-thief-rails-and-outage',
    about: 'An honest rails seller, a hostile buyer and an outage.',
    size: 'large',
    invariants: sellerSafe,
    constants: { Buyer: 'thief', Rails: ['A'], Outages: 1, ...low },
  }),
  configuration({
    name: 'safe-17-edge-alone',
    about: 'A seller that knows no last height of its permit is safe too, where the order answers within the block.',
    size: 'small',
    invariants: sellerSafe,
    constants: {
      Void: true,
      QuickOrder: true,
      Faults: ['permit-past-window'],
      Outs: ['a1', 'a2'],
      SeenIn: 3,
    },
  }),
  configuration({
    name: 'safe-18-window-from-naming',
    about: 'A window that counts from the naming itself does no harm, since the permit ends within it.',
    size: 'small',
    invariants: sellerSafe,
    constants: { Faults: ['window-from-naming'] },
  }),
  configuration({
    name: 'safe-19-operator-and-thief',
    about: 'An operator that may close the order, and a hostile buyer.',
    invariants: sellerSafe,
    constants: { OperatorCloses: true, Buyer: 'thief', ...low },
  }),
  configuration({
    name: 'safe-20-operator-and-liar',
    about: 'An operator that may close the order, and a seller that lies.',
    invariants: buyerSafe,
    properties: reachable,
    constants: { OperatorCloses: true, ...liars, ...low },
  }),
  configuration({
    name: 'safe-21-spends-vanish',
    about: 'A buyer whose spend leaves the mempools again.',
    invariants: sellerSafe,
    constants: { SpendsVanish: true, Buyer: 'closer', ...low },
  }),
  configuration({
    name: 'safe-22-spends-of-liar-vanish',
    about: 'A seller that lies, and whose spend leaves the mempools again.',
    invariants: buyerSafe,
    properties: reachable,
    constants: { SpendsVanish: true, ...liars, Kinds: ['good'], ...low },
  }),
]

const live: readonly Configuration[] = [
  configuration({
    name: 'live-1-honest',
    about: 'Orders and payables end, with a buyer that force-closes and an outage of our node.',
    invariants: [],
    properties: ends,
    isFair: true,
    constants: { ...everyOutage, Buyer: 'closer', ...low },
  }),
  configuration({
    name: 'live-2-liar',
    about: 'Orders and payables end with a seller that lies.',
    invariants: [],
    properties: ends,
    isFair: true,
    constants: { ...liars, ...lowest },
  }),
  configuration({
    name: 'live-3-thief',
    about: 'Orders and payables end with a hostile buyer, and a channel that it had for nothing is closed.',
    invariants: [],
    properties: [...ends, 'FreeIsClosed'],
    isFair: true,
    constants: { Buyer: 'thief', ...low },
  }),
]

/** Where an earlier protocol failed. */
const cases: readonly Configuration[] = [
  configuration({
    name: 'case-01-rails-seller-lies',
    about: 'A rails seller opens an output to its own second node; the buyer can be reached.',
    invariants: buyerSafe,
    properties: reachable,
    constants: { ...liars, Rails: ['A'], ...low },
  }),
  configuration({
    name: 'case-02-reorg-after-last-height',
    about: 'A re-org takes the funding back after the money was taken.',
    invariants: buyerSafe,
    constants: { ...liars, ReOrgs: 1, ...low },
  }),
  configuration({
    name: 'case-03-permit-without-end',
    about: 'The permit reaches the seller late.',
    size: 'small',
    invariants: sellerSafe,
  }),
  configuration({
    name: 'case-04-node-away',
    about: 'Our node is away across the last heights.',
    size: 'small',
    invariants: sellerSafe,
    constants: { Outages: 1 },
  }),
  configuration({
    name: 'case-05-buyer-hides',
    about: 'The buyer goes offline after the funding.',
    size: 'small',
    invariants: sellerSafe,
    constants: { Buyer: 'hider' },
  }),
  configuration({
    name: 'case-06-spend-in-mempool',
    about: 'The buyer closes the channel just before the last height.',
    size: 'small',
    invariants: sellerSafe,
    constants: { Buyer: 'closer' },
  }),
  configuration({
    name: 'case-07-spend-in-mempool-rails',
    about: 'The same with a rails seller, and a buyer that hides as well.',
    invariants: sellerSafe,
    constants: { Buyer: 'thief', Rails: ['A'], ...low },
  }),
  configuration({
    name: 'case-08-window-of-first-naming',
    about: 'An honest seller whose prepared funding became void names another within the first window.',
    size: 'small',
    invariants: sellerSafe,
    constants: { Void: true, Outs: ['a1', 'a2'], SeenIn: 3 },
  }),
  configuration({
    name: 'case-09-payable-without-end',
    about: 'A payable ends after a re-org and a double spend.',
    invariants: [],
    properties: ['PayablesEnd'],
    isFair: true,
    constants: { ...liars, Kinds: ['good'], ReOrgs: 1, ...lowest },
  }),
  configuration({
    name: 'case-10-spend-never-decided',
    about: 'A payable ends though a spend stays in a mempool for ever.',
    invariants: [],
    properties: ['PayablesEnd'],
    isFair: true,
    constants: { Buyer: 'closer', ...low },
  }),
  configuration({
    name: 'case-11-guard-gives-up',
    about: 'Our node is not synced from before E − 24 to E − 18, or away.',
    invariants: sellerSafe,
    constants: everyOutage,
  }),
  configuration({
    name: 'case-12-rails-seller-forges',
    about: 'A rails seller opens an output to itself and forges the probe.',
    invariants: buyerSafe,
    constants: { ...liars, Rails: ['A'], Twins: ['A'], ...low },
  }),
  configuration({
    name: 'case-13-operator-closes',
    about: 'An operator closes an order whose seller has published already, or is about to.',
    size: 'small',
    invariants: allSafe,
    constants: { OperatorCloses: true },
  }),
]

export const holding: readonly Configuration[] = [...safe, ...live, ...cases]
