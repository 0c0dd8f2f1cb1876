const held: unknown[] = []

/** A process of its own that takes memory when it is told to. */
process.on('message', ({ what, to }: { readonly what: string; readonly to: number }) => {
  // Touched, or the system would not count it.
  if (what === 'take resident') held.push(Buffer.alloc(900 * 1024 * 1024, 1))
  if (what === 'take heap') held.push(Array.from({ length: 3_000_000 }, (_, at) => ({ at, text: `${at}` })))
  if (what === 'give back') held.length = 0
  globalThis.gc?.()
  process.send?.({ to, heapBytes: process.memoryUsage().heapUsed })
})
