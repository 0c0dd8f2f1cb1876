import { type Config, readConfig, unknownSettings } from '@penstock/runtime/config.ts'

/** What a process was told. What is misspelt, or of another version, is named. @throws ConfigError where a value cannot be */
export function settingsOf(env: NodeJS.ProcessEnv): Config {
  const config = readConfig(env)
  const unknown = unknownSettings(env)
  if (unknown.length > 0)
    console.error(`Not a setting of this version: ${unknown.join(', ')}. The settings are in docs/configuration.md.`)
  return config
}
