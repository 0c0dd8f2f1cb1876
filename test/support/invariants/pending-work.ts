import { aggregateIdOf, categoryOf } from '@penstock/kernel/stream-name.ts'
import type { ProcessStep } from '@penstock/kernel/process.ts'
import type { PendingSteps } from './fold.ts'

/** A pending step of a stream. `party`: a description of the party or event for which the step waits; null if unknown. */
export type PendingWork = { readonly stream: string; readonly party: string | null; readonly step: string }

/** The current time in milliseconds since 1970, and the block height. */
export type CurrentTime = { readonly at: number; readonly height: number }

/** A deadline that is still pending this long after its due time or height is late. */
const LATE_MS = 3000
const LATE_BLOCKS = 2

/** Describes the pending steps. A command whose time is over is no longer sent. Only a deadline that is not late can wait for a party; other steps should run at once. */
export const listPendingWork = (pendingSteps: readonly PendingSteps[], now: CurrentTime): readonly PendingWork[] =>
  pendingSteps.flatMap((steps) =>
    steps.steps
      .filter((step) => !isTooLate(step, now))
      .map((step): PendingWork => {
        const description = `${step.kind} ${step.step}${step.kind === 'deadline' ? ` due ${JSON.stringify(step.due)}` : ''}`
        return { stream: steps.stream, party: findParty(steps, step, now), step: description }
      }),
  )

const isTooLate = (step: ProcessStep, { at }: CurrentTime): boolean => step.kind === 'command' && at > (step.notAfter ?? Infinity)

/** @returns a sentence for each step that waits for no known party */
export const findUnexplainedWork = (pendingWork: readonly PendingWork[]): readonly string[] =>
  pendingWork
    .filter(({ party }) => party === null)
    .map(({ stream, step: description }) => `${stream} waits for no known party: ${description}`)

function findParty({ stream, state }: PendingSteps, step: PendingSteps['steps'][number], now: CurrentTime): string | null {
  const category = categoryOf(stream)
  if (step.kind !== 'deadline') return null
  const { due } = step
  if ('at' in due ? due.at + LATE_MS < now.at : due.height + LATE_BLOCKS < now.height) return null
  if (category === 'settlement' && step.step === 'expire') return `the buyer, who has not paid order ${aggregateIdOf(stream)} yet`
  if (category === 'settlement' && step.step === 'loss') return 'the proof of a channel whose hold was cancelled'
  if (category === 'channel' && statusOf(state) === 'LEASED') return 'the end of the lease'
  return null
}

const statusOf = (state: unknown): unknown =>
  typeof state === 'object' && state !== null && 'status' in state ? state.status : undefined
