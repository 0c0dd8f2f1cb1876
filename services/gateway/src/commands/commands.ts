import type { Clock, Ids } from '@penstock/ports/clock.ts'
import { wallInstantOf } from '@penstock/ports/in-time.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Ask, ServiceContext } from '@penstock/runtime/service.ts'
import { tablesOf } from '../views/tables.ts'
import type { Waits } from './waits.ts'

/** `revision`: that of the stream, which the read models hold by now; null where there is no stream. */
export type Answer =
  | { readonly outcome: 'accepted'; readonly revision: number | null }
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string }
  /** Nobody answered in time. The owner refuses the command when it comes to it later. */
  | { readonly outcome: 'unanswered' }

export type AskOptions = { readonly until: number; readonly correlation?: string; readonly commandId?: string }

export type Commands = {
  /** Sends a command and waits until the read models hold what it did. `until`: a reading of the monotonic clock. */
  readonly ask: (ask: Ask, options: AskOptions) => Promise<Answer>
  /** What is known of a command by now. */
  readonly answerOf: (commandId: string) => Promise<Answer | undefined>
}

export type CommandPorts = {
  readonly views: Pick<Views, 'db'>
  readonly clock: Clock
  readonly ids: Ids
  readonly waits: Waits
  readonly send: ServiceContext<object>['send']
}

export function openCommands({ views, clock, ids, waits, send }: CommandPorts): Commands {
  const db = tablesOf(views)

  const answerOf = async (commandId: string): Promise<Answer | undefined> => {
    const row = await db
      .selectFrom('gateway_commands')
      .select(['revision', 'code', 'message'])
      .where('id', '=', commandId)
      .executeTakeFirst()
    if (!row) return undefined
    if (row.code !== null) return { outcome: 'refused', code: row.code, message: row.message ?? row.code }
    return { outcome: 'accepted', revision: row.revision }
  }

  return {
    answerOf,
    async ask(ask, { until, correlation = ask.id, commandId = ids.uuid() }) {
      await send(ask, { commandId, correlation, notAfter: wallInstantOf(clock, until) })
      const answer = await waits.wait(() => answerOf(commandId), [commandId], until)
      return answer ?? { outcome: 'unanswered' }
    },
  }
}

/** What every wish gets while the market only looks, after a restore. */
export const readOnly = {
  outcome: 'refused',
  code: 'READ_ONLY',
  message: 'The market is being restored and takes no orders or changes now. Try again later.',
} as const

/** What was answered before a restore is known, and every wish is refused at once. */
export const closedCommands = ({ answerOf }: Commands): Commands => ({ answerOf, ask: () => Promise.resolve(readOnly) })
