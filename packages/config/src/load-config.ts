import { type Config, readConfig, findUnknownSettings } from './config.ts'

/** Reads the settings, and prints the names of unknown settings on standard error. @throws ConfigError for an invalid value */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const config = readConfig(env)
  const unknown = findUnknownSettings(env)
  if (unknown.length > 0)
    console.error(`Unknown settings: ${unknown.join(', ')}. The settings of this version are in docs/configuration.md.`)
  return config
}
