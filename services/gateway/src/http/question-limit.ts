import { createSemaphore } from '@penstock/kernel/semaphore.ts'
import type { Response } from 'express'
import { outcomeUnknown } from '../errors.ts'

/** A request that only reads. */
export type Question = {
  /** Waits until the question may run. A later call returns at once. @throws GraphQLError if the caller has left meanwhile */
  readonly waitForTurn: () => Promise<void>
  /** Lets the next question run. It is called for every question, also if the question failed or never had its turn. */
  readonly end: () => void
}

/** Limits the questions that a process answers at a time. Others wait in order. Mutations and projections never wait for them. */
export type QuestionLimit = {
  /** @param response the close of its connection ends the wait */
  readonly begin: (response?: Response) => Question
  /** Runs work that answers a question, or a part of it, in its turn. */
  readonly run: <T>(work: () => Promise<T>, response?: Response) => Promise<T>
}

/** SQLite runs one read at a time. So more questions at once would only put more reads in front of the next mutation. */
const SLOTS_WITHOUT_CONNECTIONS = 4

/**
 * Leaves half of the connections to mutations and projections. The use cases of a question run one after the other, so it seldom
 * occupies two connections.
 */
export const countQuestionSlots = (databaseConnections: number | undefined): number =>
  databaseConnections === undefined ? SLOTS_WITHOUT_CONNECTIONS : Math.max(1, Math.floor(databaseConnections / 2))

export function createQuestionLimit(slots: number): QuestionLimit {
  const semaphore = createSemaphore(slots)

  const begin = (response?: Response): Question => {
    let hasSlot = false
    return {
      async waitForTurn() {
        if (hasSlot) return
        if (!(await semaphore.acquire(response && closeSignalOf(response)))) throw createClosedError()
        hasSlot = true
      },
      end() {
        if (hasSlot) semaphore.release()
        hasSlot = false
      },
    }
  }
  return {
    begin,
    async run(work, response) {
      const question = begin(response)
      await question.waitForTurn()
      try {
        return await work()
      } finally {
        question.end()
      }
    },
  }
}

/** The caller cannot read this error any more. Its status keeps it out of the log of internal errors. */
const createClosedError = (): Error => Object.assign(outcomeUnknown('The caller closed the connection.'), { status: 499 })

function closeSignalOf(response: Response): AbortSignal {
  const closed = new AbortController()
  if (response.closed || response.destroyed) closed.abort('closed')
  else response.once('close', () => closed.abort('closed'))
  return closed.signal
}
