import type { LossCause, SettlementFact } from '@penstock/contracts/settlement.ts'

/**
 * A seller's amount that the operator bears, since the market itself let a payment go whose channel may stand (decision A4).
 * `asked`: the chain and our node still have to show whether it stands. `refuted`: nothing is owed.
 */
export type Loss = {
  readonly status: 'asked' | 'borne' | 'refuted'
  readonly cause: LossCause
  /** From this height on what is not proven counts as refuted. */
  readonly untilHeight: number
}

export function evolveLoss(loss: Loss | null, { type, data }: SettlementFact): Loss | null {
  switch (type) {
    case 'LossAsked':
      return { status: 'asked', ...data }
    case 'LossBorne':
      return { status: 'borne', cause: data.cause, untilHeight: loss?.untilHeight ?? data.height }
    case 'LossRefuted':
      return loss && { ...loss, status: 'refuted' }
    default:
      return loss
  }
}
