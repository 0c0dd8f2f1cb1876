import type { Gun } from './gun.ts'
import type { RightShots } from './right.ts'
import type { Shot } from './shot.ts'
import { takesBody } from './slow.ts'

export type Dripped = {
  readonly faults: readonly string[]
  /** By the names of targets: how many results were shown, of so many requests that came to their end. */
  readonly answered: ReadonlyMap<string, { readonly requests: number; readonly results: number }>
}

const EACH = 3
export const DRIPPED = 'dripped body'

/**
 * Requests that are right, to everything that takes a body, side by side: in pieces, the last of which comes in time. They
 * are answered and judged like all others.
 * @param fromMs how long the quickest takes, in milliseconds; each next one a little longer, so that not all end at once
 */
export async function fireDripped(gun: Gun, right: RightShots, fromMs: number): Promise<Dripped> {
  const faults: string[] = []
  const answered = new Map<string, { requests: number; results: number }>()
  const shots = [...right].flatMap(([target, some]) =>
    (takesBody(target) ? some.slice(0, EACH) : []).map((shot, nth) => ({ target, shot: nth % 2 === 0 ? shot : sized(shot) })),
  )
  await Promise.all(
    shots.map(async ({ target, shot }, at) => {
      const slowly = { ...shot, bodyTakesMs: fromMs + 50 * at, kinds: [...shot.kinds, DRIPPED] }
      const results = await gun.shoot(target, slowly).catch((error: unknown) => {
        faults.push(`${target.name}, body in pieces, by ${shot.caller}: ${String(error)}\n  ${String(shot.body).slice(0, 500)}`)
        return 0
      })
      const { requests, results: before } = answered.get(target.name) ?? { requests: 0, results: 0 }
      answered.set(target.name, { requests: requests + 1, results: before + results })
    }),
  )
  return { faults, answered }
}

const sized = (shot: Shot): Shot => ({
  ...shot,
  headers: { ...shot.headers, 'content-length': `${Buffer.from(shot.body ?? '').length}` },
})
