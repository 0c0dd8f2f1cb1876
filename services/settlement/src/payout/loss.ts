import type { LossCause, SettlementFact } from '@penstock/contracts/settlement.ts'

/**
 * A seller's amount that the operator may owe, because the market cancelled a payment whose channel may be valid.
 * `asked`: since `LossSearchStarted`, the evidence still has to show whether the channel is valid. `borne`: the operator owes the
 * amount. `refuted`: the operator owes nothing.
 */
export type Loss = {
  readonly status: 'asked' | 'borne' | 'refuted'
  readonly cause: LossCause
  /** From this height on, an unproven loss counts as refuted. */
  readonly untilHeight: number
}

export function evolveLoss(loss: Loss | null, { type, data }: SettlementFact): Loss | null {
  switch (type) {
    case 'LossSearchStarted':
      return { status: 'asked', ...data }
    case 'LossBorne':
      return { status: 'borne', cause: data.cause, untilHeight: loss?.untilHeight ?? data.height }
    case 'LossRefuted':
      return loss && { ...loss, status: 'refuted' }
    default:
      return loss
  }
}
