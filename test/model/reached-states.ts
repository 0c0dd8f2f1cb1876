import type { ModelConfiguration, ModelConstants } from './configuration.ts'
import { createConfiguration, dishonestSellers, lowHeights } from './configuration-sets.ts'

/** Proves that the model reaches a state: TLC has to report a violation of the property that no behaviour reaches the state. */
const createReachedState = (
  name: string,
  description: string,
  expected: string,
  constants: Partial<ModelConstants>,
): ModelConfiguration =>
  createConfiguration({
    name,
    description,
    expected,
    size: 'small',
    invariants: [expected],
    properties: [],
    constants,
  })

export const reachedStates: readonly ModelConfiguration[] = [
  createReachedState('seen-1-paid', 'A seller is paid.', 'NeverPaid', {}),
  createReachedState('seen-2-borne', 'The operator pays for a channel as its loss.', 'NeverBorne', {
    Outages: 1,
  }),
  createReachedState('seen-3-refunded', 'A seller’s amount is paid to the buyer.', 'NeverRefunded', {
    ...dishonestSellers,
    Kinds: ['good'],
    ReOrgs: 1,
    ...lowHeights,
  }),
  createReachedState('seen-4-ruled', 'An operator decides whether a payout is made.', 'NoRuling', {
    Rails: ['A'],
    Buyer: 'hider',
  }),
  createReachedState('seen-5-free-from-hider', 'A buyer that goes offline gets a channel without payment.', 'NeverFree', {
    Buyer: 'hider',
  }),
  createReachedState('seen-6-shallow', 'The wait for a spend ends while the funding has few confirmations.', 'NeverShallow', {
    ...dishonestSellers,
    Kinds: ['good'],
    ReOrgs: 1,
    ...lowHeights,
  }),
  createReachedState('seen-7-closed-by-buyer', 'Our node learns that the buyer closed the channel.', 'NeverCleared', {
    Buyer: 'closer',
  }),
]
