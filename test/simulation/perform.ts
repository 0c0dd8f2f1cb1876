import type { Behaviour } from '@penstock/adapters/simnet/nodes.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Stroke } from './cues.ts'
import { isNo, Refused } from './market.ts'
import { payables } from './payables.ts'
import { type Stage, subjectOf } from './stage.ts'
import { people } from './strokes-people.ts'
import { events } from './strokes-world.ts'

/** Watches what is told, and lets the strokes of the plan fall on their cues. */
export type Performance = {
  /** From here on there is somebody to act. */
  begin(stage: Stage): void
  /** Looks at what was told since; between steps. */
  see(): void
  /** Nobody acts any more, whatever is told. */
  end(): void
  readonly isOver: () => boolean
}

/** Whose streams have the ids of orders; what is told elsewhere falls upon the newest order. */
const ORDERS = new Set(['quote', 'order', 'match', 'settlement', 'channel'])

const doings = { ...people, ...payables, ...events }

export function performance(): Performance {
  let stage: Stage | undefined
  let [seen, busy] = [0, 0]
  const counts = new Map<string, number>()

  async function strike(on: Stage, id: string, { does, afterMs, much }: Stroke): Promise<void> {
    busy += 1
    try {
      await on.world.engine.schedule.clock.sleep(afterMs)
      const subject = subjectOf(on, id)
      if (!subject) return
      on.world.diary.note(`on cue: ${does} (${much}) at ${id}`)
      await doings[does](on, subject, much)
      on.world.reached(`stroke: ${does}`)
    } catch (error) {
      // Whoever is told no has done it all the same.
      if (error instanceof Refused) on.world.reached(`stroke: ${does}`)
      if (!isNo(error)) on.world.blunders.push(error)
      on.world.diary.note(`on cue: ${does}: ${error instanceof Refused ? error.message : String(error)}`)
    } finally {
      busy -= 1
    }
  }

  function look(on: Stage, { category, aggregateId, fact }: Event): void {
    const name = `${category} ${fact.type}`
    const nth = (counts.get(name) ?? 0) + 1
    counts.set(name, nth)
    const id = ORDERS.has(category) ? aggregateId : on.ledger.events.findLast((event) => event.category === 'order')?.aggregateId
    if (id === undefined) return
    if (name === 'order OpeningAsked') noteAsked(on, id)
    for (const cue of on.world.plan.cues)
      if (cue.on === name && cue.nth === nth) for (const stroke of cue.strokes) void strike(on, id, stroke)
  }

  return {
    begin(on) {
      stage = on
      seen = on.ledger.events.length
    },
    see() {
      if (!stage) return
      for (let event = stage.ledger.events[seen]; event; event = stage.ledger.events[seen]) {
        seen += 1
        look(stage, event)
      }
    },
    end() {
      stage = undefined
    },
    isOver: () => busy === 0,
  }
}

/** How the node of a seller behaves just when the seller is asked to open a channel. */
function noteAsked(stage: Stage, id: string): void {
  const seller = subjectOf(stage, id)?.placed.attempts.at(-1)?.candidate.sellerPubkey
  const rows = stage.world.simnet.rows<{ behaviour: Behaviour }>(`SELECT behaviour FROM nodes WHERE pubkey = '${seller}'`)
  for (const { behaviour } of rows) stage.world.reached(`asked to open: ${behaviour}`)
}
