import { statfsSync } from 'node:fs'
import { type Gauges, createSampledGauge } from '@penstock/runtime/observability/gauges.ts'

/** With less space than this the next writes may fail (bytes). */
const LEAST_FREE_BYTES = 16 << 20

/** This space is reserved for orders that are paid: for their settlement, cancellation and payout (bytes). */
const RESERVE_BYTES = 64 << 20

const freeBytes = createSampledGauge('penstock_data_free_bytes', 'Space that is left for the data folder (bytes).')

/** Free space of the file system of a folder, for processes without privileges (bytes). */
function readFreeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

/** Adds the free space of the data folder to the metrics. */
export const measureDataSpace = (gauges: Gauges, path: string): (() => void) =>
  gauges.addReader(() => Promise.resolve([{ gauge: freeBytes, value: readFreeBytes(path) }]))

/** @returns a part of a sentence about missing space; undefined if enough is left */
export function findMissingSpace(path: string, read = readFreeBytes): string | undefined {
  const free = read(path)
  return free < LEAST_FREE_BYTES ? `the disk of ${path} has only ${Math.floor(free / 1024)} KiB left` : undefined
}

/** Whether a new order leaves the reserve of the orders that are paid untouched. */
export const hasSpaceForOrders = (path: string, read = readFreeBytes): boolean => read(path) >= RESERVE_BYTES
