/** So many may work at a time; the others wait in line. */
export function slots(count: number) {
  const line: (() => void)[] = []
  let free = count
  return {
    /** Takes a slot only if one is free now. */
    tryTake(): boolean {
      if (free === 0) return false
      free--
      return true
    },
    async take(): Promise<void> {
      if (free > 0) free--
      else await new Promise<void>((resolve) => line.push(resolve))
    },
    giveBack(): void {
      const next = line.shift()
      if (next) next()
      else free++
    },
  }
}
