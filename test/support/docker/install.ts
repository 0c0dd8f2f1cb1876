import { explainMissingKafka } from '@penstock/servers/kafka-install.ts'
import { findEngineSkipReason, installEngine, startEngine } from './engine.ts'
import { buildImages } from './images.ts'

/** @returns a sentence that says why this machine cannot run tests with containers, or undefined if it can */
export const findContainersSkipReason = async (): Promise<string | undefined> =>
  findEngineSkipReason() ?? (await explainMissingKafka())

/** Installs the engine, and builds the images that tests would otherwise pull from registries. */
export async function installContainers(): Promise<void> {
  await installEngine()
  const engine = await startEngine()
  try {
    await buildImages(engine)
  } finally {
    await engine.stop()
  }
}
