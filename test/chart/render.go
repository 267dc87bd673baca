// Renders the templates of a chart with the template engine of Go and the functions of Sprig, which are those of Helm, and prints
// the texts by file name as JSON. What Helm has besides and the chart uses is here: include, required, toYaml.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v2"
)

func main() {
	var data map[string]interface{}
	if err := json.NewDecoder(os.Stdin).Decode(&data); err != nil {
		fail(err)
	}
	files, err := filepath.Glob(filepath.Join(os.Args[1], "templates", "*"))
	if err != nil {
		fail(err)
	}
	root := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	functions["include"] = func(name string, data interface{}) (string, error) {
		var text bytes.Buffer
		err := root.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	functions["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	root.Funcs(functions)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			fail(err)
		}
		if _, err := root.New(filepath.Base(file)).Parse(string(text)); err != nil {
			fail(err)
		}
	}
	rendered := map[string]string{}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var text bytes.Buffer
		if err := root.ExecuteTemplate(&text, name, data); err != nil {
			fail(err)
		}
		rendered[name] = text.String()
	}
	if err := json.NewEncoder(os.Stdout).Encode(rendered); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
