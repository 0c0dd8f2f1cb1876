const held: unknown[] = []

/** A process of its own that takes memory when it is told to. */
process.on('message', ({ what, to }: { readonly what: string; readonly to: number }) => {
  // Touched, or the system would not count it; and gone before anybody can look.
  if (what === 'have resident') Buffer.alloc(900 * 1024 * 1024, 1)
  if (what === 'take buffers') held.push(...Array.from({ length: 1500 }, () => Buffer.alloc(64 * 1024)))
  if (what === 'take heap') held.push(Array.from({ length: 3_000_000 }, (_, at) => ({ at, text: `${at}` })))
  if (what === 'give back') held.length = 0
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  process.send?.({ to, heapBytes: heapUsed + external })
})
