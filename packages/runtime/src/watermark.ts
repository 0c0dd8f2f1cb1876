/**
 * The position up to which everything was handled, while several events are in hand and end in any order.
 */
export type Watermark = {
  begin(position: bigint): void
  end(position: bigint): void
  /** undefined until something ended. */
  value(): bigint | undefined
}

export function watermark(): Watermark {
  const open = new Set<bigint>()
  let highest: bigint | undefined
  return {
    begin: (position) => void open.add(position),
    end(position) {
      open.delete(position)
      if (highest === undefined || position > highest) highest = position
    },
    value() {
      if (highest === undefined) return undefined
      let lowest = highest + 1n
      for (const position of open) if (position < lowest) lowest = position
      return lowest - 1n
    },
  }
}
