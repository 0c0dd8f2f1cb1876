/**
 * Tracks the position up to which all events were handled, while several events are in flight and end in any order.
 */
export type Watermark = {
  begin(position: bigint): void
  end(position: bigint): void
  /**
   * Reads the position, which is always the position of an event, because a store may not accept a position between two
   * events.
   * @returns undefined if no handled position is known
   */
  value(): bigint | undefined
}

export function createWatermark(): Watermark {
  /** Positions in flight, each with the newest position before it that has begun. */
  const open = new Map<bigint, bigint | undefined>()
  let newest: bigint | undefined
  let highest: bigint | undefined
  return {
    begin(position) {
      if (open.has(position)) return
      // A repeated position is lower than the newest. Of the positions below it, only the positions in flight are known.
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
