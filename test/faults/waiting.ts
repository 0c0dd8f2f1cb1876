import { aggregateIdOf, categoryOf } from '@penstock/ports/event-store.ts'
import type { Asking } from './fold.ts'

/** Who an order may rightly wait for, and until when; or that nobody can be named. */
export type Wait = { readonly stream: string; readonly party: string | null; readonly asks: string }

/** How late it is: milliseconds since 1970, and blocks. */
export type Moment = { readonly at: number; readonly height: number }

/** A due deadline is carried out within moments. */
const LATE_MS = 3000
const LATE_BLOCKS = 2

/** @returns what is still asked for, with whom it waits for: only a deadline that is still to come waits for anybody */
export const waitsOf = (asking: readonly Asking[], now: Moment): readonly Wait[] =>
  asking.flatMap((one) =>
    one.steps.map((step): Wait => {
      const asks = `${step.kind} ${step.step}${step.kind === 'deadline' ? ` due ${JSON.stringify(step.due)}` : ''}`
      return { stream: one.stream, party: partyOf(one, step, now), asks }
    }),
  )

/** What waits for nobody who can be named. */
export const unnamed = (waits: readonly Wait[]): readonly string[] =>
  waits.filter(({ party }) => party === null).map(({ stream, asks }) => `${stream} waits for nobody who can be named: ${asks}`)

function partyOf({ stream, state }: Asking, step: Asking['steps'][number], now: Moment): string | null {
  const category = categoryOf(stream)
  if (step.kind !== 'deadline') return null
  const { due } = step
  if ('at' in due ? due.at + LATE_MS < now.at : due.height + LATE_BLOCKS < now.height) return null
  if (category === 'settlement' && step.step === 'expire') return `the buyer, who has not paid order ${aggregateIdOf(stream)} yet`
  if (category === 'settlement' && step.step === 'loss') return 'the proof of a channel whose payment was let go'
  if (category === 'channel' && statusOf(state) === 'LEASED') return 'the end of the lease'
  return null
}

const statusOf = (state: unknown): unknown =>
  typeof state === 'object' && state !== null && 'status' in state ? state.status : undefined
