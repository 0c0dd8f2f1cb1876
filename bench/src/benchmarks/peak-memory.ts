const SAMPLE_EVERY_MS = 20

/**
 * Samples the memory of this process. The maximum that the system reports begins with the memory of the parent.
 * @returns a function that returns the largest sample (bytes)
 */
export function samplePeakMemory(): () => number {
  let peak = 0
  setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), SAMPLE_EVERY_MS)
  return () => peak
}
