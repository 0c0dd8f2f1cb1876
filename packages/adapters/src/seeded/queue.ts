/** What waits for its instant. `tie` decides among those of one instant, `number` among equals. */
export type Waiting = {
  readonly at: number
  readonly tie: number
  readonly number: number
  readonly label: string
  readonly action: () => void
  cancelled: boolean
}

/** A binary heap: a run has tens of thousands of actions waiting or passed. */
export function queue() {
  const heap: Waiting[] = []

  const up = (from: number): void => {
    for (let here = from; here > 0;) {
      const parent = (here - 1) >> 1
      if (!swapIfSooner(heap, here, parent)) return
      here = parent
    }
  }
  const down = (): void => {
    for (let here = 0; ;) {
      const [left, right] = [2 * here + 1, 2 * here + 2]
      const child = isSooner(heap[right], heap[left]) ? right : left
      if (!swapIfSooner(heap, child, here)) return
      here = child
    }
  }
  const take = (): Waiting | undefined => {
    const first = heap[0]
    const last = heap.pop()
    if (last && last !== first) {
      heap[0] = last
      down()
    }
    return first
  }

  return {
    add(waiting: Waiting): void {
      heap.push(waiting)
      up(heap.length - 1)
    },
    /** The next one that was not cancelled, left where it is. */
    peek(): Waiting | undefined {
      while (heap[0]?.cancelled) take()
      return heap[0]
    },
    take,
  }
}

const isSooner = (a: Waiting | undefined, b: Waiting | undefined): boolean =>
  a !== undefined && (b === undefined || (a.at - b.at || a.tie - b.tie || a.number - b.number) < 0)

function swapIfSooner(heap: Waiting[], child: number, parent: number): boolean {
  const [below, above] = [heap[child], heap[parent]]
  if (!below || !above || !isSooner(below, above)) return false
  heap[child] = above
  heap[parent] = below
  return true
}
