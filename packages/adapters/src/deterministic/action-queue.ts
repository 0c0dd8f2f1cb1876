/** An action that runs at the virtual time `at` (ms). `tie` orders actions of the same time, `sequence` orders equal ties. */
export type ScheduledAction = {
  readonly at: number
  readonly tie: number
  readonly sequence: number
  readonly label: string
  readonly action: () => void
  isCancelled: boolean
}

/** A binary heap ordered by time, because a run has tens of thousands of actions. */
export function createActionQueue() {
  const heap: ScheduledAction[] = []

  const siftUp = (from: number): void => {
    for (let index = from; index > 0;) {
      const parent = (index - 1) >> 1
      if (!swapIfEarlier(heap, index, parent)) return
      index = parent
    }
  }
  const siftDown = (): void => {
    for (let index = 0; ;) {
      const [left, right] = [2 * index + 1, 2 * index + 2]
      const child = isEarlier(heap[right], heap[left]) ? right : left
      if (!swapIfEarlier(heap, child, index)) return
      index = child
    }
  }
  const take = (): ScheduledAction | undefined => {
    const first = heap[0]
    const last = heap.pop()
    if (last && last !== first) {
      heap[0] = last
      siftDown()
    }
    return first
  }

  return {
    add(action: ScheduledAction): void {
      heap.push(action)
      siftUp(heap.length - 1)
    },
    /** @returns the next action that is not cancelled; the action stays in the queue */
    peek(): ScheduledAction | undefined {
      while (heap[0]?.isCancelled) take()
      return heap[0]
    },
    take,
  }
}

const isEarlier = (a: ScheduledAction | undefined, b: ScheduledAction | undefined): boolean =>
  a !== undefined && (b === undefined || (a.at - b.at || a.tie - b.tie || a.sequence - b.sequence) < 0)

function swapIfEarlier(heap: ScheduledAction[], child: number, parent: number): boolean {
  const [below, above] = [heap[child], heap[parent]]
  if (!below || !above || !isEarlier(below, above)) return false
  heap[child] = above
  heap[parent] = below
  return true
}
