const allocations: unknown[] = []

/** Runs in a separate process, and allocates memory on request. */
process.on('message', ({ what, to }: { readonly what: string; readonly to: number }) => {
  // The kernel counts only pages that were written, so the buffer is filled. It is freed before the next report.
  if (what === 'allocate briefly') Buffer.alloc(900 * 1024 * 1024, 1)
  if (what === 'allocate buffers') allocations.push(...Array.from({ length: 1500 }, () => Buffer.alloc(64 * 1024)))
  if (what === 'allocate heap') allocations.push(Array.from({ length: 3_000_000 }, (_, at) => ({ at, text: `${at}` })))
  if (what === 'free all') allocations.length = 0
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  process.send?.({ to, heapBytes: heapUsed + external })
})
