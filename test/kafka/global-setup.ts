import { explainMissingKafka } from '@penstock/servers/kafka-install.ts'
import { startKafka } from '@penstock/servers/kafka.ts'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The addresses of the broker that the test files share. Without Java or Maven the list is empty. */
    kafkaBrokers: readonly string[]
  }
}

/** Starts one broker for all test files. @returns a function that stops it after the last file */
export default async function startSharedBroker(project: TestProject): Promise<() => Promise<void>> {
  const servers = (await explainMissingKafka()) === undefined ? await startKafka() : undefined
  project.provide('kafkaBrokers', servers?.brokers ?? [])
  return async () => servers?.stop()
}
