#!/bin/sh
# The `gristmill` of the image, for the service and for `docker exec` alike; the program itself lies in libexec.
#
# Secrets come as files (compose and Kubernetes mount them), references in the configuration name variables: each file becomes the
# variable of its name, such as /run/secrets/PGPASSWORD. Nothing is printed, and nothing reaches the sandbox, whose environment is empty.
set -eu

for file in "${GRISTMILL_SECRETS:-/run/secrets}"/*; do
    name=${file##*/}
    case $name in
        '' | [0-9]* | *[!A-Z0-9_]*) continue ;; # not the name of a variable
    esac
    if [ -f "$file" ]; then
        value=$(cat "$file")
        export "$name=$value"
    fi
done

# The configuration is found where one stands. Paths in the words that follow are therefore absolute.
cd "${GRISTMILL_CONFIG_FOLDER:-/etc/gristmill}"
exec "${0%/*}/../libexec/gristmill" "$@"
