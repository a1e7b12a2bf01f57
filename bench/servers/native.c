// A compiled stdio server of the legacy era, so that its own start takes about a millisecond: `native [tools] [name]`.
// Its first tool is `echo`; the others have the schema of the tools in tools.mjs.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *find(const char *line, const char *key) {
  const char *at = strstr(line, key);
  return at == NULL ? NULL : at + strlen(key);
}

/** The length of the JSON string or number that begins here. */
static int length_of(const char *value) {
  if (*value != '"') return (int)strcspn(value, ",}");
  int end = 1;
  while (value[end] != '"') end += value[end] == '\\' ? 2 : 1;
  return end + 1;
}

static void list_tools(int count, const char *name) {
  printf("{\"tools\":[{\"name\":\"echo\",\"description\":\"Returns its text.\",\"inputSchema\":{\"type\":\"object\","
         "\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}}");
  for (int tool = 1; tool < count; tool++)
    printf(",{\"name\":\"tool_%d\",\"description\":\"Does the %d. thing that %s can do.\",\"inputSchema\":{\"type\":"
           "\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"limit\":{\"type\":\"integer\",\"minimum\":1},"
           "\"mode\":{\"enum\":[\"fast\",\"thorough\"]}},\"required\":[\"path\"]}}",
           tool, tool, name);
  printf("]}");
}

static void answer(const char *line, int count, const char *name) {
  const char *id = find(line, "\"id\":");
  const char *method = find(line, "\"method\":\"");
  if (id == NULL || method == NULL) return;
  printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,", length_of(id), id);
  if (strncmp(method, "tools/call\"", 11) == 0) {
    const char *text = find(line, "\"text\":");
    if (text == NULL) text = "\"\"";
    printf("\"result\":{\"content\":[{\"type\":\"text\",\"text\":%.*s}]}", length_of(text), text);
  } else if (strncmp(method, "tools/list\"", 11) == 0) {
    printf("\"result\":");
    list_tools(count, name);
  } else if (strncmp(method, "initialize\"", 11) == 0) {
    // Agrees to any version: some gateways refuse a newer one than they asked for.
    const char *version = find(line, "\"protocolVersion\":");
    if (version == NULL) version = "\"2025-11-25\"";
    printf("\"result\":{\"protocolVersion\":%.*s,\"capabilities\":{\"tools\":{}},"
           "\"serverInfo\":{\"name\":\"%s\",\"version\":\"1.0.0\"}}",
           length_of(version), version, name);
  } else if (strncmp(method, "ping\"", 5) == 0) {
    printf("\"result\":{}");
  } else {
    printf("\"error\":{\"code\":-32601,\"message\":\"Method not found\"}");
  }
  printf("}\n");
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 20;
  const char *name = argc > 2 ? argv[2] : "native";
  char *line = NULL;
  size_t size = 0;
  while (getline(&line, &size, stdin) > 0) {
    answer(line, count, name);
    fflush(stdout);
  }
  return 0;
}
