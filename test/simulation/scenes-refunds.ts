import { nth, type Scene, type Tools } from './scene-tools.ts'

/** After so many blocks whoever withholds a payout has to say how it ends. */
const WAIT = [11, 14] as const

/** A channel is sold, and its funding leaves the chain for good: at the end of the wait its buyer gets the money back. */
export const undoneSale = ({ on, does, pick, maybe, purchase, opens }: Tools): Scene => ({
  busyMs: 16_000,
  purchases: [purchase(), ...(pick(true, false) ? [purchase({ atMs: 900, buyer: pick('buyer', 'buyer-2') })] : [])],
  cues: [
    ...maybe(...opens()),
    on(pick('settlement HoldSettled', 'settlement HoldSettled', 'settlement SettleRequested'), does('the sale is undone')),
    on(
      'settlement PayoutWithheld',
      ...maybe(does('the seller gives an invoice')),
      ...maybe(does('the operator decides a payout', { much: [0, 2] })),
      ...maybe(does(pick('settlement is down', 'the node is away', 'the buyer is away'), { at: [300, 900] })),
      does('blocks are mined', { at: [500, 1200], much: WAIT }),
    ),
    on(
      'settlement PayableClosed',
      ...maybe(does(pick('the seller gives an invoice', 'the operator retries a payout', 'the operator decides a payout'))),
      does('the buyer asks for its money', { at: [50, 600], much: pick(0, 1) }),
      ...maybe(does('the buyer asks for its money', { at: [50, 900], much: 1 })),
    ),
    on(
      'settlement PayoutFailed',
      ...maybe(does('the operator retries a payout', { at: [0, 400] })),
      ...maybe(does('the buyer asks for its money', { at: [0, 900], much: 1 })),
    ),
  ],
})

/** What only a person can decide, who may say two things at once; and whoever gets it may have to ask for it. */
export const decided = ({ on, does, pick, maybe, purchase, opens }: Tools): Scene => {
  const decides = () => does('the operator decides a payout', { at: [0, 40], much: pick(0, 1, 1, 2) })
  const word = () => does(pick('the channel is closed', 'the channel is closed', 'the seller attests falsely'), { at: [0, 60] })
  return {
    busyMs: 16_000,
    purchases: [purchase({ options: { private: pick(true, false), rails_cluster_only: false } })],
    cues: [
      ...maybe(...opens()),
      on('settlement HoldSettled', word()),
      on(
        'settlement PayoutWithheld',
        ...maybe(decides()),
        does('blocks are mined', { at: [300, 900], much: WAIT }),
        does('the operator decides a payout', { at: [1200, 1900], much: pick(0, 1, 1, 2) }),
        ...maybe(does('the operator decides a payout', { at: [1200, 1900], much: pick(0, 1, 2) })),
      ),
      on(
        'settlement PayoutDecided',
        ...maybe(decides()),
        ...maybe(does(pick('settlement is down', 'the node is away', 'the sale is undone', 'a re-org'), { at: [0, 300] })),
        ...maybe(does('the buyer asks for its money', { at: [0, 300], much: pick(0, 1) })),
      ),
      on('settlement PayableClosed', ...maybe(does('the buyer asks for its money', { at: [100, 900], much: pick(0, 1) }))),
      on('settlement PayoutFailed', ...maybe(does('the operator retries a payout', { at: [0, 400] }))),
    ],
  }
}

/** The operator closes an order whose channel stands, and says who bears the loss while the chain may still change its mind. */
export const borneOrNot = ({ on, does, pick, maybe, opens }: Tools): Scene => ({
  busyMs: 14_000,
  cues: [
    ...maybe(...opens()),
    on(
      pick('order OutpointNamed', 'order FundingSeen', 'order FundingConfirmed'),
      does('order hears the watch late', { at: 0, much: [1500, 4000] }),
      does('settlement is asked late', { at: 0, much: [300, 900] }),
      does('the operator closes the order', { at: [0, 200] }),
    ),
    on(
      'settlement LossBorne',
      does('the operator decides a payout', { at: [0, 600], much: pick(0, 1, 2, 2) }),
      ...maybe(does('the operator decides a payout', { at: [0, 600], much: pick(0, 2) })),
      ...maybe(does(pick('a re-org', 'the channel is closed', 'settlement is down'), { at: [0, 400] })),
      ...maybe(does('the seller gives an invoice', { at: [0, 900] })),
    ),
    on('settlement PayoutFailed', ...maybe(does('the operator retries a payout', { at: [0, 400] }))),
  ],
})

/** The market let a payment go whose channel stands, and cannot pay its seller for a while. */
export const borneUnpaid = ({ on, does, pick, maybe, opens }: Tools): Scene => ({
  busyMs: 20_000,
  cues: [
    ...maybe(...opens()),
    on(
      pick('order FundingSeen', 'order FundingConfirmed'),
      does('settlement is asked late', { at: 0, much: [300, 900] }),
      does('the operator closes the order', { at: [0, 200] }),
    ),
    on(
      'settlement LossAsked',
      does('the node is away', { at: 0, much: [400, 1500] }),
      does('the seller gives an invoice', { at: [0, 120] }),
      ...maybe(does('the seller gives an invoice twice', { at: [0, 120] })),
    ),
    on(
      'settlement LossBorne',
      does('the seller gives an invoice', { at: [0, 400] }),
      does('the seller is away', { at: [0, 900], much: [3000, 9000] }),
      does('the operator decides a payout', { at: [900, 1500], much: 0 }),
    ),
    on('settlement PayoutFailed', does('the operator retries a payout', { at: [0, 400] })),
    nth(on('settlement PayoutFailed', ...maybe(does('the seller gives an invoice', { at: [0, 400] }))), 2),
  ],
})

/**
 * The node is away across the last heights, and the payment is let go though its channel may stand. The order hears of it
 * late, so that its seller gives an invoice while nobody knows yet who bears that.
 */
export const unheardLoss = ({ on, does, pick, maybe, opens }: Tools): Scene => ({
  busyMs: 16_000,
  cues: [
    ...maybe(...opens()),
    on(
      pick('order FundingSeen', 'order FundingConfirmed'),
      does('order hears the watch late', { at: 0, much: [2500, 4500] }),
      does('order hears settlement late', { at: 0, much: [2500, 4500] }),
      does('the node is away', { at: 0, much: [2000, 4000] }),
      does('the last height comes', { at: [0, 400], much: [6, 7] }),
      ...maybe(does('blocks are mined', { at: [400, 900], much: 1 })),
    ),
    on(
      'settlement LossAsked',
      does('the node is away', { at: 0, much: [400, 1500] }),
      ...[1, 2].map(() =>
        does(pick('the seller gives an invoice', 'the seller gives an invoice', 'the seller gives an invoice twice'), {
          at: [0, 300],
        }),
      ),
    ),
    on('settlement LossBorne', ...maybe(does('the operator decides a payout', { at: [0, 600], much: pick(0, 1) }))),
  ],
})
