/**
 * The position up to which everything was handled, while several events are in hand and end in any order.
 */
export type Watermark = {
  begin(position: bigint): void
  end(position: bigint): void
  /**
   * A position that an event has: a store need not know those between two events.
   * @returns undefined where nothing is known to be handled
   */
  value(): bigint | undefined
}

export function watermark(): Watermark {
  /** Positions in hand, each with the newest one that was begun before it. */
  const open = new Map<bigint, bigint | undefined>()
  let newest: bigint | undefined
  let highest: bigint | undefined
  return {
    begin(position) {
      if (open.has(position)) return
      // A repeated position is older than the newest one, and only those in hand are known to lie before it.
      const isNew = newest === undefined || position > newest
      open.set(position, isNew ? newest : greatest([...open.keys()].filter((other) => other < position)))
      if (isNew) newest = position
    },
    end(position) {
      open.delete(position)
      highest = greatest(highest === undefined ? [position] : [highest, position])
    },
    value() {
      if (highest === undefined) return undefined
      const lowest = least([...open.keys()])
      return lowest === undefined || lowest > highest ? highest : open.get(lowest)
    },
  }
}

const greatest = (all: readonly bigint[]): bigint | undefined => all.reduce<bigint | undefined>(max, undefined)
const least = (all: readonly bigint[]): bigint | undefined => all.reduce<bigint | undefined>(min, undefined)
const max = (one: bigint | undefined, other: bigint): bigint => (one === undefined || other > one ? other : one)
const min = (one: bigint | undefined, other: bigint): bigint => (one === undefined || other < one ? other : one)
