import { availableParallelism } from 'node:os'
import { createSimulationWorkers, type SimulationWorkers, type WorkerPoolOptions } from './pool.ts'

const waitForever: WorkerPoolOptions['waitForTimeout'] = () => new Promise(() => undefined)

/** Creates workers for tests. Plans have no time limit, because a busy machine may be slow. The test runner ends a hang. */
export const createTestWorkers = (size = availableParallelism(), options: WorkerPoolOptions = {}): SimulationWorkers =>
  createSimulationWorkers(size, { waitForTimeout: waitForever, ...options })
